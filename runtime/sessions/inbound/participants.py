"""Acts of participants in other processes: events of the inbox for the seats that they have in a session."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from runtime.agents.registry import SessionChannels
from runtime.agents.remote_agent import RemoteAgent
from runtime.core.errors import ExecutionError, QueueFull, RoutingError
from runtime.core.ids import AgentId, MessageId
from runtime.core.json_text import plain_data
from runtime.core.message import Message, MessageType
from runtime.events.talk import MessageUndelivered
from runtime.execution.speech.delivery import SpeechDelivery, addressed
from runtime.execution.speech.targets import resolve_target
from runtime.meetings.meeting import JOINED, check_takes_part
from runtime.meetings.meetings import SessionMeetings, write_shared
from runtime.sessions.features import SessionPart, SessionParts
from runtime.stores.inbox import PARTICIPANT, InboxEvent
from runtime.tape.facts.meetings import MeetingAddressed

Deed = Literal["fetched", "say", "answer", "leave", "share"]


class SeatAct(Struct, frozen=True):
    """An act of a participant in its seat.

    "fetched": it has acknowledged `messages`; "say": `text` to whom `to` names, as programs name them; "answer": to the
    invitation into `meeting`, `text` is JOINED or REJECTED with a reason; "leave" `meeting`; "share" in `meeting` under
    `name` the value that `text` is as JSON, where version `expected` is there. `number` is its own name for the act.
    """

    seat: str
    does: Deed
    number: str = ""
    messages: tuple[str, ...] = ()
    to: str = ""
    text: str = ""
    meeting: str = ""
    name: str = ""
    expected: int | None = None

    @classmethod
    def read(cls, text: str) -> SeatAct:
        """The inverse of `str`. Raises ValueError, KeyError or TypeError."""
        data = json.loads(text)
        return cls(**{**data, "messages": tuple(data["messages"])})

    def __str__(self) -> str:
        return json.dumps(plain_data(self), ensure_ascii=False)


class SessionParticipants(SessionPart):
    """The participants in other processes, as one session hears them. What they do becomes facts, for the commit that
    consumes the event; what cannot be done they are told."""

    kinds = frozenset({PARTICIPANT})

    def __init__(
        self, parts: SessionParts, channels: SessionChannels, meetings: SessionMeetings, delivery: SpeechDelivery
    ) -> None:
        super().__init__(parts)
        self._clock = parts.around.clock
        self._bus = parts.around.bus
        self._broken = parts.broken
        self._agents = parts.agents
        self._channels = channels
        self._meetings = meetings
        self._delivery = delivery
        self._deeds: Mapping[Deed, Callable[[RemoteAgent, SeatAct], Awaitable[None]]] = {
            "fetched": self._fetched,
            "say": self._say,
            "answer": self._answer,
            "leave": self._leave,
            "share": self._share,
        }

    async def take_own(self, event: InboxEvent, /) -> None:
        """Bring an act to its seat; one in another session, such as one that was undone, and one about something that
        was stopped come to nothing."""
        act = SeatAct.read(event.text)
        remote = self._agents.remote([*act.seat.split("/"), ""][1])
        if self._broken() is not None or remote is None or remote.seat.id != act.seat:
            return
        try:
            await self._deeds[act.does](remote, act)
        except (RoutingError, ExecutionError) as error:
            self._tell(remote, act, str(error))

    async def _fetched(self, remote: RemoteAgent, act: SeatAct) -> None:
        remote.fetched(act.messages)

    async def _say(self, remote: RemoteAgent, act: SeatAct) -> None:
        state = self._journal.state
        rooms = [meeting.id for meeting in state.meetings.values() if remote.id in meeting.joined]
        going_on = [id_ for id_ in rooms if state.meetings[id_].status != "ended"]
        here = going_on[0] if len(going_on) == 1 else None
        target = resolve_target(act.to, state, self._agents, meeting=here)
        if target.meeting is not None:
            check_takes_part(state, state.meetings[target.meeting], remote.id)
        channel = self._channels.channel(remote.id, target)
        if not act.text.strip():
            return
        id_ = MessageId(f"{remote.state.participant}.{act.number}")
        text = addressed(act.text, target.whom(state))
        message = target.message(state, remote.state, text, id_, self._clock.now())
        seen = any(not isinstance(hearer.id, AgentId) for hearer in channel.participants)
        if seen and (page := self._delivery.show(remote.id, target, message.content)) is not None:
            self._pages.show(page)
        await channel.send(message)
        if target.meeting is not None:
            self._journal.note(MeetingAddressed(target.meeting, message))

    async def _answer(self, remote: RemoteAgent, act: SeatAct) -> None:
        meeting = self._journal.state.meetings.get(act.meeting)
        if meeting is not None and remote.id in meeting.joined and act.text == JOINED:
            return  # it was asked again before it could answer
        if meeting is None or remote.id not in meeting.pending:
            raise RoutingError(f"{remote.state.klass} is not asked to join meeting {act.meeting}")
        self._meetings.answered(meeting, remote.id, act.text)

    async def _leave(self, remote: RemoteAgent, act: SeatAct) -> None:
        meeting = self._journal.state.meetings.get(act.meeting)
        if meeting is None:
            raise RoutingError(f"there is no meeting {act.meeting}")
        check_takes_part(self._journal.state, meeting, remote.id)
        self._meetings.leave(meeting, remote.id)

    async def _share(self, remote: RemoteAgent, act: SeatAct) -> None:
        meeting = self._journal.state.meetings.get(act.meeting)
        if meeting is None:
            raise RoutingError(f"there is no meeting {act.meeting}")
        value = json.loads(act.text)
        write_shared(self._journal, meeting, act.name, value, by=remote.id, expected=act.expected)

    def _tell(self, remote: RemoteAgent, act: SeatAct, why: str) -> None:
        """Tell a participant that its act had no effect."""
        notice: dict[str, Any] = {"type": MessageType.UNDELIVERED, "recipient_id": remote.id}
        text = f"{act.does} {act.number} came to nothing: {why}"
        id_ = MessageId(f"{remote.state.participant}.{act.number}.undelivered")
        try:
            remote.accept(Message(id_, remote.id, "Parley", text, self._clock.now(), **notice))
        except QueueFull as error:  # it fetches nothing any more
            self._bus.publish(MessageUndelivered(str(error), participant_id=remote.id, message_id=id_))
