"""Meetings: a channel with a life cycle. Inviting, active, ended; every change is a fact and a notice to all in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import anyio

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.core.clock import Clock
from runtime.core.ids import AgentId, MeetingId, new_message_id
from runtime.core.message import Message, MessageType
from runtime.tape.journal import Journal
from runtime.tape.state import MeetingState

FIRST_MEETING = 100
"""Meetings of a session are numbered from here."""

JOIN_TIMEOUT_S = 30.0
"""How long the host waits for required attendees before it hears who is missing."""

STARTED = "Meeting started"
ENDED = "Meeting has ended"


class Rooms(Protocol):
    """The channels of meetings."""

    def meeting_channel(self, meeting: MeetingState) -> Channel:
        """The channel with everybody who is in the meeting now, people of the conversation included."""
        ...

    def direct_channel(self, one: AgentId, other: AgentId) -> Channel: ...


class Meetings:
    """The meetings of one session."""

    def __init__(self, journal: Journal, rooms: Rooms, clock: Clock, bus: Bus) -> None:
        self._journal = journal
        self._rooms = rooms
        self._clock = clock
        self._bus = bus
        self._answered = anyio.Event()

    def get(self, meeting: str) -> MeetingState:
        """The meeting of this id."""
        return self._journal.state.meetings[meeting]

    def open(self, host: str, frame: str, topic: str) -> MeetingState:
        """Begin a meeting that `host` holds by executing `frame`."""
        number = str(FIRST_MEETING + len(self._journal.state.meetings))
        self._journal.note("meeting", id=number, topic=topic, host=host, f=frame)
        self._bus.publish("meeting.started", session_id=self._journal.session, meeting_id=number)
        return self.get(number)

    async def invite(self, meeting: MeetingState, agent: AgentId) -> None:
        """Ask an agent to join; asking twice changes nothing."""
        if agent in meeting.invited or agent in meeting.joined:
            return
        self._journal.note("invite", id=meeting.id, agent=agent, answer="")
        host = AgentId(meeting.host)
        text = f"You are invited to meeting {meeting.id}: {meeting.topic}"
        message = self._message(meeting, host, text, MessageType.MEETING_INVITATION, recipient=agent)
        await self._rooms.direct_channel(host, agent).send(message)

    async def wait_for(self, meeting: MeetingState, required: Sequence[str]) -> list[str]:
        """Wait until the required agents have answered, or the time is over; returns those who did not join."""
        with anyio.move_on_after(JOIN_TIMEOUT_S):
            while any(not self._has_answered(meeting, agent) for agent in required):
                self._answered = anyio.Event()
                await self._answered.wait()
        return [agent for agent in required if agent not in meeting.joined]

    @staticmethod
    def _has_answered(meeting: MeetingState, agent: str) -> bool:
        return agent in meeting.joined or bool(meeting.invited.get(agent))

    async def start(self, meeting: MeetingState) -> None:
        """Everybody who was needed is here."""
        self._journal.note("meeting_active", id=meeting.id)
        await self._tell(meeting, STARTED)

    def joined(self, meeting: MeetingState, agent: str) -> None:
        """`agent` takes part from now on."""
        self._journal.note("joined", id=meeting.id, who=agent)
        self._answered.set()

    def rejected(self, meeting: MeetingState, agent: str, reason: str) -> None:
        """`agent` does not come."""
        self._journal.note("invite", id=meeting.id, agent=agent, answer=f"REJECTED - {reason}")
        self._answered.set()

    async def announce(self, meeting: MeetingState, text: str) -> None:
        """Tell everybody in the meeting, as a notice."""
        await self._tell(meeting, text)

    async def leave(self, meeting: MeetingState, agent: str, name: str) -> None:
        """`agent` is gone; the others are told."""
        if agent not in meeting.joined or meeting.status == "ended":
            return
        self._journal.note("left", id=meeting.id, who=agent)
        await self._tell(meeting, f"{name} has left the meeting")

    async def end(self, meeting: MeetingState) -> None:
        """Nobody is in the meeting any more."""
        if meeting.status == "ended":
            return
        await self._tell(meeting, ENDED)
        self._journal.note("meeting_end", id=meeting.id)
        self._bus.publish("meeting.ended", session_id=self._journal.session, meeting_id=meeting.id)

    async def _tell(self, meeting: MeetingState, text: str) -> None:
        message = self._message(meeting, AgentId(meeting.host), text, MessageType.MEETING_NOTICE)
        channel = self._rooms.meeting_channel(meeting)
        for participant in channel.participants:
            if participant.id != message.sender_id and str(participant.id).isdecimal():
                await participant.deliver(message)

    def _message(
        self, meeting: MeetingState, host: AgentId, text: str, kind: MessageType, recipient: AgentId | None = None
    ) -> Message:
        klass = self._journal.state.agents[host].klass
        extra: dict[str, Any] = {"recipient_id": recipient}
        return Message(
            id=new_message_id(),
            sender_id=host,
            sender_class=klass,
            content=text,
            created_at=self._clock.now(),
            type=kind,
            meeting_id=MeetingId(meeting.id),
            **extra,
        )
