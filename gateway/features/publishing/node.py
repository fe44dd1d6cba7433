"""What programs publish, in a process that serves conversations."""

from __future__ import annotations

from datetime import UTC, datetime

from anyio.abc import TaskGroup

from gateway.clients.events import EventTriggers
from gateway.clients.tasks.ordering import TaskDoor, TaskOrdering
from gateway.feature import FeatureGround
from gateway.features.publishing.calls import ProgramEvents, PublishCalls
from gateway.settings.clients import publisher_scopes
from runtime.core.background import OnDemand
from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import InboxFull
from runtime.core.signals import Signal
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.stores.inbox import pause
from runtime.tape.facts.session import EventHandedOn, EventPublished
from runtime.tape.listeners import hears
from runtime.tape.state.run import PublishedState
from runtime.tape.view import source_of


class PublishedEvents(SessionPart):
    """The events of one session. Handed on again after a crash, an event begins nothing twice."""

    def __init__(self, parts: SessionParts, door: ProgramEvents | None) -> None:
        self._program = parts.record.program
        self._journal = parts.journal
        self._door = door
        self._clock = parts.around.clock
        self.calls = (PublishCalls(self._journal, self._program, door),)
        self.listeners = (self.noted,)
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
                await self._door.begin(self._program, event, published.hops)
        except InboxFull:
            await pause(self._clock)
            return
        self._journal.note(EventHandedOn(seq))


class NodePublishing(NodePart):
    """What the sessions of a process publish; without `door` nobody would see an event."""

    def __init__(self, door: ProgramEvents | None = None) -> None:
        self._door = door

    @property
    def alone(self) -> NodePublishing:
        return NodePublishing()

    def session(self, parts: SessionParts, /) -> PublishedEvents:
        return PublishedEvents(parts, self._door)


def open_node(ground: FeatureGround) -> NodePublishing:
    """What programs may publish here, and what begins on it."""
    own, inbox, tapes = ground.settings, ground.database.inbox, ground.database.tapes
    door = TaskDoor(ground.programs, tapes, inbox, inbox.known, ground.clock, own.tasks.limits)
    return NodePublishing(ProgramEvents(publisher_scopes(own.publishers), EventTriggers(TaskOrdering(door))))
