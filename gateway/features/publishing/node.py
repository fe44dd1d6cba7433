"""What programs publish, in a process that serves conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from starlette.exceptions import HTTPException

from gateway.clients.events import EventTriggers
from gateway.clients.requests import BusClient
from gateway.clients.scopes import PROGRAM, ClientScopes
from gateway.clients.tasks.service import TaskDoor, TaskOrdering
from gateway.feature import FeatureGround, ServingGround, TriedGround
from gateway.features.publishing.calls import PublishCalls
from gateway.settings.operation import publisher_scopes
from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import InboxFull
from runtime.sessions.features import InSessions, NodePart, PostingPart, SessionParts
from runtime.stores.inbox import pause
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import EventHandedOn, EventPublished
from runtime.tape.state.tasks import PublishedState
from runtime.tape.view import source_of


class ProgramEvents:
    """What the settings let programs publish, and the programs that begin on it: to these, a program is a client."""

    def __init__(self, publishers: Mapping[str, ClientScopes], triggers: EventTriggers) -> None:
        """`publishers` are programs by name: the types of events that each may send, and what may begin on them."""
        self._clients = {name: BusClient(f"{PROGRAM}{name}", scopes) for name, scopes in publishers.items()}
        self._triggers = triggers

    def refusal(self, program: str, type_: str) -> str | None:
        """The sentence why a program may not publish events of a type; None where it may."""
        client = self._clients.get(program)
        if client is not None and client.scopes.may_send(type_):
            return None
        return f"the settings do not let {program} publish {type_}; [publishers.{program}] has the types that it may"

    def begun(self, program: str, type_: str) -> Sequence[str]:
        client = self._clients.get(program)
        return [] if client is None else [one.name for one in self._triggers.on(client, type_)]

    async def begin(self, program: str, event: CloudEvent, hops: int) -> None:
        """Order what begins on an event, once however often it is asked. Raises InboxFull where too much waits."""
        client = self._clients.get(program)
        if client is None:
            return
        try:
            await self._triggers.begin(client, [event], hops=hops)
        except HTTPException as error:
            raise InboxFull(error.detail) from error


class PublishedEvents(PostingPart):
    """The events of one session. Handed on again after a crash, an event begins nothing twice."""

    def __init__(self, parts: SessionParts, door: ProgramEvents | None) -> None:
        super().__init__(parts)
        self._door = door
        self._clock = parts.around.clock
        refusal = _alone if door is None else partial(door.refusal, self._record.program)
        begun = _nothing if door is None else partial(door.begun, self._record.program)
        self.calls = (PublishCalls(self._journal, refusal, begun),)
        self.listeners = (self.noted,)

    @hears(EventPublished)
    def noted(self, _fact: EventPublished) -> None:
        self._posting.wake()

    def _owed(self) -> object:
        return self._journal.state.published

    async def _post(self) -> None:
        while published := self._journal.state.published:
            await self._journal.commit()
            for event in published:
                await self._hand_on_one(event)
            self._journal.hurry()

    async def _hand_on_one(self, published: PublishedState) -> None:
        at, source = datetime.fromtimestamp(published.at_s, UTC), source_of(self._journal.session)
        seq, about, values = published.seq, published.agent, published.values
        event = CloudEvent(str(seq), published.type, source, at, about, values, sequence=seq)
        try:
            if self._door is not None:
                await self._door.begin(self._record.program, event, published.hops)
        except InboxFull:
            await pause(self._clock)
            return
        self._journal.note(EventHandedOn(seq))


def _alone(_type: str, /) -> str:
    return "events need a gateway, and here is one conversation alone"


def _nothing(_type: str, /) -> Sequence[str]:
    return ()


def publishing_part(door: ProgramEvents | None = None) -> NodePart:
    """What sessions publish; without `door` nobody would see an event."""
    return InSessions(partial(PublishedEvents, door=door), partial(PublishedEvents, door=None))


def tried(_: TriedGround) -> NodePart:
    return publishing_part()


def open_node(ground: FeatureGround, _: ServingGround) -> NodePart:
    own, inbox, tapes = ground.settings, ground.database.inbox, ground.database.tapes
    door = TaskDoor(ground.programs, tapes, inbox, ground.clock, own.tasks.limits)
    return publishing_part(ProgramEvents(publisher_scopes(own.publishers), EventTriggers(TaskOrdering(door))))
