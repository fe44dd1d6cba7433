"""The events that a session publishes: handed on, after they are on the tape, to the programs that begin on them."""

from __future__ import annotations

from datetime import UTC, datetime

from anyio.abc import TaskGroup

from runtime.core.background import OnDemand
from runtime.core.clock import Clock
from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import InboxFull
from runtime.core.signals import Signal
from runtime.execution.calls.publishing import EventDoor
from runtime.stores.inbox import RETRY_S
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.session import EventHandedOn, EventPublished
from runtime.tape.journal import Journal
from runtime.tape.listeners import hears
from runtime.tape.state.run import PublishedState
from runtime.tape.view import source_of


class PublishedEvents:
    """The events of one session. Handed on again after a crash, an event begins nothing twice."""

    def __init__(self, record: SessionRecord, journal: Journal, door: EventDoor | None, clock: Clock) -> None:
        self._record = record
        self._journal = journal
        self._door = door
        self._clock = clock
        self._handing_on = OnDemand(self._hand_on)
        self._handed_on = Signal()

    def start(self, tasks: TaskGroup) -> None:
        """Hand events on, in `tasks`."""
        self._handing_on.start(tasks)
        self._handing_on.wake()

    @hears(EventPublished)
    def noted(self, _fact: EventPublished) -> None:
        """There is one to hand on."""
        self._handing_on.wake()

    async def all_posted(self) -> None:
        """Return when every program that begins on one has its order. Needs `start`."""
        while self._journal.state.published:
            self._handing_on.wake()
            await self._handed_on.wait()

    async def _hand_on(self) -> None:
        while published := self._journal.state.published:
            await self._journal.commit()
            for event in published:
                await self._hand_on_one(event)
            self._journal.hurry()
        self._handed_on.send()

    async def _hand_on_one(self, published: PublishedState) -> None:
        at, source = datetime.fromtimestamp(published.at_s, UTC), source_of(self._journal.session)
        seq, about, values = published.seq, published.agent, published.values
        event = CloudEvent(str(seq), published.type, source, at, about, values, sequence=seq)
        try:
            if self._door is not None:
                await self._door.begin(self._record.program, event, published.hops)
        except InboxFull:
            await self._clock.sleep_until(self._clock.monotonic() + RETRY_S)
            return
        self._journal.note(EventHandedOn(seq))
