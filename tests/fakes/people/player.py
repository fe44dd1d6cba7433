"""A participant in another process, and the node that serves it, in a few lines: reads its mail, acts, acknowledges."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import anyio
from msgspec.structs import replace

from runtime.channels.mailbox import START, MailboxEntry, SeatLetter, SeatMailboxes
from runtime.core.clock import Clock
from runtime.sessions.inbound.participants import SeatAct
from runtime.stores.inbox import PARTICIPANT, InboxEvent
from tests.fakes.memory.mailboxes import MemoryMailboxes

NAME = "scout"

Plays = Callable[[Mapping[str, Any]], Sequence[SeatAct]]
"""What the participant does with a message, given as it reads it. Seats and numbers are filled in."""


class Entrance(Protocol):
    """An inbox."""

    async def add(self, event: InboxEvent, /) -> bool: ...


class WatchedMailboxes(MemoryMailboxes):
    """Says when something goes in (False) and when it is in (True); a process may die at either."""

    def __init__(self, point: Callable[[bool], None]) -> None:
        super().__init__()
        self._point = point
        self.waiting_now = 0

    async def put(self, participant: str, letter: SeatLetter, /) -> bool:
        self._point(False)
        added = await super().put(participant, letter)
        self.waiting_now += added
        self._point(True)
        return added

    async def take_out(self, participant: str, mail: Sequence[MailboxEntry], /) -> None:
        await super().take_out(participant, mail)
        self.waiting_now -= len(mail)


class Player:
    """Goes on where the last one was: what is done again has the same name, and is known by it."""

    def __init__(self, mailboxes: SeatMailboxes, plays: Plays, entrance: Entrance, clock: Clock) -> None:
        self._mailboxes = mailboxes
        self._plays = plays
        self._entrance = entrance
        self._clock = clock
        self.heard: list[Mapping[str, Any]] = []
        """Every message that it was given, in order, also more than once."""
        self.away = False
        """Whether it is not connected."""
        self.done: Callable[[], Awaitable[None]] = _nothing
        """Told when it has acknowledged something."""

    async def run(self) -> None:
        """Play for ever."""
        if self.away:
            await anyio.sleep_forever()
        attendance = await self._mailboxes.attend(NAME, uuid.uuid4().hex)
        while True:
            found = await self._mailboxes.read(NAME, START, attendance, wait_s=3600, at_most=1)
            for mail in found.mail:
                await self._play(mail)

    async def _play(self, mail: MailboxEntry) -> None:
        letter = mail.letter
        self.heard.append(letter.content)
        for number, act in enumerate(self._plays(letter.content)):
            await self._do(mail, replace(act, seat=letter.seat.id, number=f"{mail.entry_id}.{number}"))
        await self._do(mail, SeatAct(letter.seat.id, "fetched", f"{mail.entry_id}", messages=(letter.message,)))
        await self._mailboxes.take_out(NAME, [mail])
        await self.done()

    async def _do(self, mail: MailboxEntry, act: SeatAct) -> None:
        id_, address = f"{PARTICIPANT}.{NAME}.{act.number}", mail.letter.seat.address
        await self._entrance.add(InboxEvent(id_, address, "", "", str(act), self._clock.now(), kind=PARTICIPANT))


async def _nothing() -> None:
    return


def says(text: str, to: str = "agent 1000") -> SeatAct:
    """It says something."""
    return SeatAct("", "say", to=to, text=text)
