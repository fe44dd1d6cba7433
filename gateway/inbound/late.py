"""What people write while nothing answers: late messages are summed up, and who meets no node is told so."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.records import Records, what_can_be_read
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.address import Address, address_from
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.texts import Texts
from runtime.events.service import AgentsAbsent, AgentsPresent
from runtime.stores.inbox import NOTICE, Inbox, InboxEvent

QUIET_S = 5.0
"""How long nothing late has come to a conversation when it is told: then all of it is probably read."""

_ANSWERED = frozenset({"message", "edit", "choice"})

NOTICE_AFTER_S = 10.0
"""The absence after which people are told. Chosen: a node that is restarted is back before."""

RECENTLY_S = 60.0
"""Who wrote in this time before an absence is told too: their answer may have stopped growing."""

_MAX_REMEMBERED = 10_000
"""The conversations remembered, and those told in one absence. Others are not told."""

_UNANSWERED = frozenset({"reaction", "deletion"})
_LOOK_S = 30.0

Say = Callable[[Address, str], Awaitable[None]]
"""Tells a conversation something outside any session."""


class _Waiting(Struct):
    address: Address
    due_s: float
    watched: bool = False


class LateMessages(Struct, eq=False):
    """Counts the late messages of one platform, durably and each once, and says their number once a conversation.

    Messages outside of threads, and those that begin a thread of their own, are of one conversation: their channel.
    Raises StorageUnavailable, and nothing else.
    """

    records: Records
    inbox: Inbox
    clock: Clock
    texts: Texts
    max_age_s: float
    _waiting: OrderedDict[str, _Waiting] = field(default_factory=OrderedDict)
    _tasks: TaskGroup | None = None

    async def run(self) -> None:
        """Tell conversations once it is quiet in them, until cancelled; at first those left by an earlier process."""
        try:
            async with anyio.create_task_group() as self._tasks:
                kept = await self.records.all()
                for at in what_can_be_read(kept, lambda text: address_from(json.loads(text)["at"])).values():
                    self._expect(at)
                await anyio.sleep_forever()
        finally:  # the bot may come back to this process, and be heard before this runs again
            self._tasks = None
            self._waiting.clear()

    async def takes(self, event: Inbound) -> bool:
        """Whether the event came too late; then it is counted, and needs no answer."""
        at = _place(event)
        age_s = (self.clock.now() - event.sent_at).total_seconds()
        if event.act not in _ANSWERED or age_s <= self.max_age_s:
            if at.key in self._waiting and event.act in _ANSWERED:
                await self._tell(at)
            return False
        if event.act == "message":
            kept = {"at": [at.platform, at.conversation, at.thread], "by": event.person_id}
            await self.records.put(f"{at.key}\n{event.sent_at.timestamp():.6f}\n{event.event_id}", json.dumps(kept))
            self._expect(at)
        return True

    def _expect(self, at: Address) -> None:
        waiting = self._waiting.setdefault(at.key, _Waiting(at, 0.0))
        waiting.due_s = self.clock.monotonic() + QUIET_S
        if not waiting.watched and self._tasks is not None:
            waiting.watched = True
            self._tasks.start_soon(self._tell_when_quiet, waiting)

    async def _tell_when_quiet(self, waiting: _Waiting) -> None:
        while self._waiting.get(waiting.address.key) is waiting:
            if self.clock.monotonic() >= waiting.due_s:
                await self._tell(waiting.address)
                return
            await self.clock.sleep_until(waiting.due_s)

    async def _tell(self, at: Address) -> None:
        """Say how many there were. A process that dies after that says it no second time."""
        self._waiting.pop(at.key, None)
        kept = await self.records.all()
        here = {name: text for name, text in kept.items() if name.rpartition("\n")[0].rpartition("\n")[0] == at.key}
        late = what_can_be_read(here, lambda text: str(json.loads(text)["by"]))
        if not late:
            return
        event_id = min(late).rpartition("\n")[2]
        notice = InboxEvent(f"late.{event_id}", at, "", "", self._text(late), self.clock.now(), NOTICE, private=False)
        try:
            await self.inbox.add(notice)
        except InboxFull:
            self._expect(at)
            return
        for name in late:
            await self.records.remove(name)

    def _text(self, late: Mapping[str, str]) -> str:
        people = len(set(late.values()))
        if len(late) == 1:
            return self.texts("late.one")
        if people == 1:
            return self.texts("late.of_one", messages=len(late))
        return self.texts("late.several", messages=len(late), people=people)


def _place(event: Inbound) -> Address:
    """The place where people hear of a late event."""
    begins = event.address.thread is not None and event.address.thread == event.message_id
    return replace(event.address, thread=None) if begins else event.address


class AbsenceNotices(Struct, eq=False):
    """Tells each conversation once an absence, and nobody in one that is short."""

    roster: ClusterRoster
    clock: Clock
    say: Say
    texts: Texts
    bus: Bus
    _recent: OrderedDict[str, tuple[Address, float]] = field(default_factory=OrderedDict)
    _written: anyio.Event = field(default_factory=anyio.Event)

    def note(self, event: InboxEvent) -> None:
        """Somebody did something that is now kept."""
        if event.kind in _UNANSWERED:
            return
        where = event.place or event.address
        self._recent[where.key] = (where, self.clock.monotonic())
        self._recent.move_to_end(where.key)
        if len(self._recent) > _MAX_REMEMBERED:
            self._recent.popitem(last=False)
        self._written.set()

    async def run(self) -> None:
        while True:
            await self._until(absent=True)
            began_s = self.clock.monotonic()
            async with beside() as tasks:
                tasks.start_soon(self._tell, began_s)
                await self._until(absent=False)
            self._recent.clear()
            if (seconds := self.clock.monotonic() - began_s) >= NOTICE_AFTER_S:
                self.bus.publish(AgentsPresent(seconds))

    async def _until(self, *, absent: bool) -> None:
        while True:
            seen = self.roster.stirs
            if (self.roster.nodes == 0) is absent:
                return
            await self.roster.stirred(seen, _LOOK_S)

    async def _tell(self, began_s: float) -> None:
        await self.clock.sleep_until(began_s + NOTICE_AFTER_S)
        self.bus.publish(AgentsAbsent())
        told: set[str] = set()
        while True:
            self._written = anyio.Event()
            while self._recent:
                key, (where, at_s) = self._recent.popitem(last=False)
                if at_s >= began_s - RECENTLY_S and key not in told and len(told) < _MAX_REMEMBERED:
                    told.add(key)
                    await self.say(where, self.texts("inbound.nobody"))
            await self._written.wait()
