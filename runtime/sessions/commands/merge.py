"""The result of a fork, brought back as one message that names the facts that led to it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from runtime.core.address import Address
from runtime.core.errors import InboxFull
from runtime.core.ids import MessageId, PersonId, SessionId
from runtime.core.message import Message
from runtime.sessions.features import SessionPart
from runtime.sessions.succession import words_within
from runtime.stores.inbox import MERGED, InboxEvent
from runtime.tape.facts.people import PageFinished
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ForkMerged, ResultReturned

MAX_RESULT_CHARS = 2_000
"""The length of the last words."""


@dataclass(frozen=True, slots=True)
class ForkResult:
    """The last words in a fork that has ended, and the facts that led to them."""

    session: SessionId
    first: int
    last: int
    text: str

    @classmethod
    def read(cls, text: str) -> ForkResult:
        """The inverse of `str`. Raises ValueError."""
        session, first, last, said = text.split(" ", 3)
        return cls(SessionId(session), int(first), int(last), said)

    def __str__(self) -> str:
        return f"{self.session} {self.first} {self.last} {self.text}"


class Merge(SessionPart):
    """Gives a session's result back if it is a fork, and takes in those of its forks."""

    kinds = frozenset({MERGED})

    async def settled(self) -> None:
        """Put the result of a fork that has ended into the inbox of where it is from, once."""
        home = self._journal.state.home
        if home is None or not self._journal.state.ended:
            return
        await self._journal.commit()
        result = ForkResult(self._record.id, home.first, self._journal.state.seq, await self._said_last(home.first))
        event = InboxEvent(
            id=f"merged.{self._record.id}",
            address=Address(home.platform, home.conversation, home.thread),
            person_id="",
            person_name="",
            text=str(result),
            sent_at=self._around.clock.now(),
            kind=MERGED,
        )
        with suppress(InboxFull):  # it stays owed, and the session with it, until a restart
            await self._inbox.add(event)
            self._journal.note(ResultReturned())

    async def _said_last(self, first: int) -> str:
        said = ""
        async for fact in self._around.store.read_session(self._record.id, after=first - 1):
            finished = read_as(fact, PageFinished)
            if finished is not None and finished.pos is not None:
                said = finished.text
        return said[:MAX_RESULT_CHARS]

    async def take_own(self, event: InboxEvent, /) -> None:
        """Let the first agent know what came of a fork, with the next message."""
        result = ForkResult.read(event.text)
        agent = next(iter(self._journal.state.agents), None)
        if agent is not None:
            content = f"A copy of this conversation went on elsewhere and has ended. Said last there: {result.text}"
            message = Message(MessageId(event.id), PersonId("fork"), "Fork", content, event.sent_at)
            self._journal.note(ForkMerged(agent, message, result.session, result.first, result.last))
        self._pages.tell(self._around.texts("session.merged", text=words_within(result.text)))
