"""Where the meetings of a session are held: whoever executes a meeting playbook comes in here, and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.agents.library import Library
from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.participant import Participant
from runtime.channels.registry import Channels
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import AgentId, MeetingId, parse_meeting_id
from runtime.core.message import Message
from runtime.execution.frame import Call, Frame
from runtime.execution.host import Builtin, Executable, site
from runtime.execution.signatures import call_arguments
from runtime.execution.speech import Pages
from runtime.language.program import PlaybookSpec
from runtime.meetings.meetings import Meetings
from runtime.tape.journal import Journal
from runtime.tape.state import FrameState, MeetingState


class Roster(Protocol):
    """The agents and people of a session, as those who can be in a meeting."""

    @property
    def human(self) -> Participant:
        """Whoever of the people is here."""
        ...

    def participant(self, agent: str) -> Participant:
        """The agent of this id, as it hears."""
        ...

    def ensure(self, klass: str) -> AgentId:
        """An agent of this class, made if there is none. Raises UnknownTarget."""
        ...

    def executable(self, agent: str, playbook: str) -> Executable:
        """The playbook of this name that belongs to the agent. Raises ProgramChanged."""
        ...


class MeetingHall:
    """The meetings of one session as agents see them: entered and left by frames, spoken in through channels."""

    def __init__(
        self, journal: Journal, roster: Roster, pages: Pages, channels: Channels, clock: Clock, bus: Bus
    ) -> None:
        self._journal = journal
        self._roster = roster
        self._pages = pages
        self._channels = channels
        self.meetings = Meetings(journal, self, clock, bus)
        self._library: Library

    def equip(self, library: Library) -> None:
        """Give what is made after the hall, before any agent lives."""
        self._library = library

    # -- channels

    def channel(self, meeting: str) -> Channel:
        """The channel of the meeting of this id."""
        return self.meeting_channel(self.meetings.get(meeting))

    def meeting_channel(self, meeting: MeetingState) -> Channel:
        """See `Rooms`."""
        human = self._roster.human
        present = [self._roster.participant(who) for who in meeting.joined]
        channel = self._channels.meeting(MeetingId(meeting.id), [*present, human])
        for participant in list(channel.participants):
            if participant is not human and participant.id not in meeting.joined:
                channel.remove_participant(participant.id)
        for participant in present:
            channel.add_participant(participant)
        return channel

    def direct_channel(self, one: AgentId, other: AgentId) -> Channel:
        """See `Rooms`."""
        return self._channels.direct(self._roster.participant(one), self._roster.participant(other))

    # -- what an invited agent's loop needs

    def invited(self, agent: str, invitation: Message) -> Executable | None:
        """See `Reception`."""
        meeting = self.meetings.get(str(invitation.meeting_id))
        spec = self._library.meeting(self._journal.state.agents[agent].klass)
        if spec is None or meeting.status == "ended":
            self.meetings.rejected(meeting, agent, "cannot handle this type of meeting")
            return None
        if any(param.default is None for param in spec.params):
            self.meetings.rejected(meeting, agent, f"{spec.name} needs arguments, and an invitation has none")
            return None
        return self._roster.executable(agent, spec.name)

    def joined(self, agent: str, meeting: str) -> None:
        """See `Reception`."""
        self.meetings.joined(self.meetings.get(meeting), agent)

    # -- meetings as frames

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState:
        """See `Hall`. Raises PlaybookError, as the host's playbook sees it, when required agents do not come."""
        state = frame.state
        if state.meeting is not None:
            current = self.meetings.get(state.meeting)
            if current.frame != frame.id or current.held:
                return current
        required = [self._roster.ensure(klass) for klass in playbook.metadata.get("required_attendees") or ()]
        optional = [self._roster.ensure(klass) for klass in playbook.metadata.get("optional_attendees") or ()]
        meeting = self._opened(state, playbook.name)
        if meeting.status == "inviting":
            await self._gather(meeting, state.agent, required, optional)
        if not meeting.held:
            names = ", ".join(self._journal.state.agents[a].klass for a in required if a not in meeting.joined)
            raise PlaybookError(f"meeting {meeting.id} did not take place: {names} did not join")
        return meeting

    async def _gather(
        self, meeting: MeetingState, host: str, required: Sequence[AgentId], optional: Sequence[AgentId]
    ) -> None:
        """Invite, and begin the meeting when everybody required is there; else end it."""
        for agent in (*required, *optional):
            await self.meetings.invite(meeting, agent)
        await self._journal.commit()
        with self._pages.presence.working(host, self._pages.texts("doing.meeting")):
            missing = await self.meetings.wait_for(meeting, required)
        if missing:
            await self.meetings.end(meeting)
        else:
            await self.meetings.start(meeting)

    def _opened(self, state: FrameState, topic: str) -> MeetingState:
        if state.meeting is not None and self.meetings.get(state.meeting).frame == state.id:
            return self.meetings.get(state.meeting)
        return self.meetings.open(state.agent, state.id, topic)

    async def depart(self, meeting: MeetingState, agent: str, /) -> None:
        """See `Hall`. With its host the meeting ends."""
        await self.meetings.leave(meeting, agent, self._journal.state.agents[agent].klass)
        if meeting.host == agent or not meeting.joined:
            await self.meetings.end(meeting)

    # -- host calls

    def calls(self) -> dict[str, Builtin]:
        """The host calls about meetings, by name."""
        return {"EndMeeting": self._end_meeting, "LeaveMeeting": self._leave_meeting}

    async def _end_meeting(self, frame: Frame, call: Call) -> None:
        await self.meetings.end(self._meeting_of(frame, call))
        self._journal.note("res", **site(frame, call), val=None)

    async def _leave_meeting(self, frame: Frame, call: Call) -> None:
        await self.depart(self._meeting_of(frame, call), frame.state.agent)
        self._journal.note("res", **site(frame, call), val=None)

    def _meeting_of(self, frame: Frame, call: Call) -> MeetingState:
        (named,) = call_arguments(call, "meeting", optional=1)
        number = frame.state.meeting if named is None else parse_meeting_id(str(named)) or str(named)
        if number is None or number not in self._journal.state.meetings:
            raise UnknownTarget(f"there is no meeting {named!r}" if named else "this playbook is in no meeting")
        return self.meetings.get(number)
