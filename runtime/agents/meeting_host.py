"""The host of a session's meetings: frames that execute meeting playbooks enter and leave it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from runtime.agents.human_attendees import Candidates, HumanAttendees
from runtime.agents.invitations import Invitations
from runtime.agents.library import Library
from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.registry import Channels
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError, QueueFull, UnknownTarget
from runtime.core.ids import AgentId, MeetingId, ParticipantId, PersonId, parse_meeting_id
from runtime.core.message import Message
from runtime.core.plain_text import enumerated
from runtime.execution.calls.ask import Questions
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments
from runtime.execution.host import Builtin, Host
from runtime.execution.speech.pages import Pages
from runtime.language.program import PlaybookSpec
from runtime.meetings.invitations import AUTOMATIC, BUSY, names_of
from runtime.meetings.meeting import absence, may_join, meeting_of, missing
from runtime.meetings.meetings import Meetings
from runtime.meetings.places import Places
from runtime.meetings.showing import OpenToPeople
from runtime.tape.facts.calls import CallReturned
from runtime.tape.facts.meetings import HostCued, MeetingAddressed, NoticeHeard
from runtime.tape.frame_state import FrameState
from runtime.tape.journal import Journal
from runtime.tape.state import MeetingState


class MeetingHost:
    """The meetings of one session as agents see them: entered and left by frames, spoken in through channels."""

    def __init__(
        self, journal: Journal, candidates: Candidates, pages: Pages, channels: Channels, clock: Clock, bus: Bus
    ) -> None:
        self._journal = journal
        self._candidates = candidates
        self._pages = pages
        self._channels = channels
        self._clock = clock
        self._bus = bus
        self.meetings = Meetings(journal, self, clock, bus)
        self.human_attendees = HumanAttendees(journal, self.meetings, candidates, pages)
        self._places: Places
        self._open_to_people: OpenToPeople
        self.invitations = Invitations(journal, candidates, self.meetings, self.human_attendees, clock, bus)
        self._library: Library

    def equip(
        self, library: Library, questions: Questions, places: Places, open_to_people: OpenToPeople, host: Host
    ) -> None:
        """Give what is made after the meeting host, before any agent lives."""
        self._library = library
        self.invitations.equip(library, self.direct, host)
        self.human_attendees.equip(questions)
        self._places = places
        self._open_to_people = open_to_people

    # -- for people, and what they order

    async def person_leaves(self, meeting: MeetingState, person: PersonId) -> None:
        """A person leaves, or does not come; nothing happens when they are not in it and were not asked."""
        self.human_attendees.leave(meeting, person)

    async def invite(self, meeting: MeetingState, by: ParticipantId, names: Sequence[str]) -> list[AgentId | PersonId]:
        """Have agents and people asked, named as playbooks name them; returns who was asked now, by id.

        `by` is an agent or a person. Who is in it, or is asked already, is not asked again. Raises UnknownTarget.
        """
        wanted = [self._candidates.attendee(name, meeting.host) for name in names]
        asked = [who for who in dict.fromkeys(wanted) if may_join(meeting, who) and who not in meeting.pending]
        for who in asked:
            self.meetings.ask(meeting, who, by)
        self.meetings.tell_of_invitations(meeting, by, asked)
        await self.invitations.send(meeting, asked)
        return asked

    async def end(self, meeting: MeetingState, by: ParticipantId) -> None:
        """End a meeting for all, as `by` wants it, an agent or a person; nothing happens when it has ended."""
        self.meetings.end(meeting, by=by)

    async def heard(self, meeting: MeetingState, message: Message) -> bool:
        """What a person said where the meeting is held is heard by everybody in it; who was asked comes in by it.

        False when it said no more than whether they come.
        """
        said = self.human_attendees.said(meeting, message)
        if said is None:
            return False
        await self.channel(meeting.id).send(said)
        self._journal.note(MeetingAddressed(meeting.id, said))
        return True

    # -- channels

    def channel(self, meeting: str) -> Channel:
        """The channel of the meeting of this id: in it is who has joined, and where people look on, their display."""
        known = self.meetings.get(meeting)
        present = [self._candidates.participant(who) for who in known.joined]
        present += [self._candidates.human] if not known.people and self._open_to_people(known) else []
        channel = self._channels.meeting(MeetingId(known.id), present)
        here = {participant.id for participant in present}
        for participant in channel.participants:
            if participant.id not in here:
                channel.remove_participant(participant.id)
        return channel

    def direct(self, one: ParticipantId, other: ParticipantId) -> Channel:
        """The channel of two of the agents and people."""
        return self._channels.direct(self._candidates.participant(one), self._candidates.participant(other))

    # -- what meetings need: see `Attendance`

    def name(self, who: ParticipantId) -> str:
        """The class of an agent, the name of a person."""
        agent = self._journal.state.agent(who)
        return agent.klass if agent is not None else self._journal.state.called(who)

    def hear(self, agent: AgentId, message: Message) -> None:
        """See `Attendance`. An agent that can take no more does not hear it, which is published."""
        try:
            self._candidates.remind(agent, message)
        except QueueFull as error:
            self.invitations.undelivered(message, agent, error)

    def welcome(self, meeting: MeetingState, agent: AgentId, history: Message) -> None:
        """See `Attendance`. A model is told with its first turn, code by its first wait."""
        frame = next((f for f in self._journal.state.roots(agent) if f.meeting == meeting.id), None)
        if frame is not None and self._is_prose(frame):
            self._journal.note(NoticeHeard(frame.id, history))
        else:
            self.hear(agent, history)

    def cue(self, meeting: MeetingState, message: Message) -> None:
        """See `Attendance`. A model is told with its first turn, code by its first wait, unless it has begun."""
        if self._is_prose(self._journal.state.frames[meeting.frame]):
            self._journal.note(NoticeHeard(meeting.frame, message))
        else:
            self._journal.note(HostCued(meeting.id, message, meeting.frame))

    def _is_prose(self, frame: FrameState) -> bool:
        """Whether a frame executes a meeting playbook in natural language."""
        specs = self._library.meetings(self._journal.state.agents[frame.agent].klass)
        return any(spec.name == frame.playbook and spec.kind == "llm" for spec in specs)

    def announce(self, meeting: MeetingState, text: str) -> None:
        """See `Attendance`. It is told unless nobody in it wants that."""
        if any(self._candidates.notifies(person) for person in meeting.people):
            self._pages.tell(text, meeting.place)

    def host_reads(self, meeting: MeetingState) -> bool:
        frame = self._journal.state.frames.get(meeting.frame)
        return frame is not None and self._is_prose(frame)

    def announce_absent(self, meeting: MeetingState, names: Sequence[str]) -> None:
        """See `Attendance`. Of a meeting without people they are told where they see what is said in it."""
        people = meeting.people
        if any(map(self._candidates.notifies, people)) if people else self._open_to_people(meeting):
            text = self._pages.texts
            named = enumerated(names, text("meeting.and"))
            self._pages.tell(text("meeting.waiting", names=named), meeting.place)

    def waiting_for(self, meeting: MeetingState) -> list[AgentId]:
        state = self._journal.state
        waits = [wait for wait in state.waits.values() if wait.source and wait.source.get("meeting") == meeting.id]
        return list(dict.fromkeys(state.frames[wait.frame].agent for wait in waits))

    # -- meetings as frames

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState | str:
        """See `MeetingHosting`. Raises UnknownTarget and PlaybookError for attendees that nobody can be."""
        state = frame.state
        meeting = self._journal.state.meetings.get(state.meeting or "")
        if meeting is not None and meeting.frame != frame.id:
            if state.caller is None:
                return await self.invitations.come_in(frame, playbook, meeting)
            meeting = None
        if meeting is None:
            current = meeting_of(self._journal.state, state.agent)
            if current is not None:
                return f"The meeting did not take place: {self.name(state.agent)}: {BUSY} with meeting {current.id}"
            self._attendees(state, playbook)
            topic = state.kwargs.get("topic") or playbook.metadata.get("topic") or playbook.name
            meeting = self.meetings.create(state.agent, frame.id, playbook.name, str(topic))
        await self._gather(frame, meeting, playbook)
        return meeting if meeting.held else meeting.why or f"Meeting {meeting.id} did not take place: it was ended"

    async def _gather(self, frame: Frame, meeting: MeetingState, playbook: PlaybookSpec) -> None:
        """Invite, and begin the meeting when everybody required is there; else end it."""
        if meeting.status == "created":
            required, optional = self._attendees(frame.state, playbook)
            people = [who for who in (*required, *optional) if isinstance(who, PersonId)]
            if people:
                await self._places.open(meeting, people)
            declared = {param.name for param in playbook.params}
            own = [name for name in AUTOMATIC if name in frame.state.kwargs and name not in declared]
            if self.meetings.begin_inviting(meeting, own):
                asked = [who for who in required if self.meetings.ask(meeting, who, meeting.host, required=True)]
                asked += [who for who in optional if self.meetings.ask(meeting, who, meeting.host)]
                await self.invitations.send(meeting, asked)
        await self._journal.commit()
        with self._pages.presence.waiting(frame.id):
            while meeting.gathering:
                frame.expect_change()
                await frame.change()
        if meeting.status == "inviting" and missing(meeting):
            self.meetings.end(meeting, by=meeting.host, why=absence(meeting, self.name))
        elif meeting.status == "inviting":
            self.meetings.start(meeting)

    def _attendees(
        self, state: FrameState, playbook: PlaybookSpec
    ) -> tuple[list[AgentId | PersonId], list[AgentId | PersonId]]:
        """The required and the optional attendees: those of the call, else those of the metadata."""
        optional = names_of(playbook.metadata.get("optional_attendees"))
        given = names_of(state.kwargs.get("attendees"))
        if given:
            required = [name for name in given if name not in optional]
            optional = [name for name in optional if name in given]
        else:
            required = names_of(playbook.metadata.get("required_attendees"))
        must = self._resolved(required, state.agent)
        return must, [who for who in self._resolved(optional, state.agent) if who not in must]

    def _resolved(self, names: Sequence[str], host: AgentId) -> list[AgentId | PersonId]:
        found = dict.fromkeys(self._candidates.attendee(name, host) for name in names)
        return [who for who in found if who != host]

    async def depart(self, meeting: MeetingState, frame: Frame, failure: Exception | None = None, /) -> None:
        """See `MeetingHosting`. The meeting ends when its host returns, unless the host had left before."""
        agent = frame.state.agent
        why = None if failure is None else f"{self.name(agent)} failed: {failure}"
        if meeting.frame != frame.id:
            self.meetings.leave(meeting, agent, why and "it failed")
        elif agent in meeting.joined:
            self.meetings.end(meeting, by=agent, why=why)

    def withdraw(self, agent: AgentId, why: str) -> None:
        """End the meeting that a stopped agent holds, and take it out of the one that it is in."""
        meeting = meeting_of(self._journal.state, agent)
        if meeting is not None and meeting.host == agent:
            self.meetings.end(meeting, by=agent, why=f"{self.name(agent)} {why}")
        elif meeting is not None:
            self.meetings.leave(meeting, agent, why)

    def settle(self, agents: Collection[AgentId] | None = None) -> None:
        """Let agents (these or all) leave that no longer execute a playbook of their meeting: it was given up, not
        ended.
        """
        going_on = self.meetings.going_on()
        if not going_on:
            return
        there = {(f.agent, f.meeting) for f in self._journal.state.frames.values() if f.meeting is not None}
        for meeting in going_on:
            asked = meeting.agents if agents is None else [who for who in agents if who in meeting.joined]
            gone = [who for who in asked if (who, meeting.id) not in there and self._candidates.executes(who)]
            for who in gone:
                self.withdraw(who, "was stopped")

    # -- host calls

    def calls(self) -> dict[str, Builtin]:
        """The host calls about meetings, by name."""
        return {
            "InviteToMeeting": self._invite_to_meeting,
            "EndMeeting": self._end_meeting,
            "LeaveMeeting": self._leave_meeting,
        }

    async def _invite_to_meeting(self, frame: Frame, call: Call) -> None:
        """Ask more to join; gives those who were asked now."""
        attendees, named = call_arguments(call, "attendees", "meeting", optional=1)
        if _is_meeting(attendees):
            attendees, named = named, attendees
        meeting = self._meeting_of(frame, named)
        asked = await self.invite(meeting, frame.state.agent, names_of(attendees))
        self._journal.note(CallReturned(*site(frame, call), value=[self.name(who) for who in asked]))

    async def _end_meeting(self, frame: Frame, call: Call) -> None:
        (named,) = call_arguments(call, "meeting", optional=1)
        self.meetings.end(self._meeting_of(frame, named), by=frame.state.agent)
        self._journal.note(CallReturned(*site(frame, call)))

    async def _leave_meeting(self, frame: Frame, call: Call) -> None:
        (named,) = call_arguments(call, "meeting", optional=1)
        self.meetings.leave(self._meeting_of(frame, named), frame.state.agent)
        self._journal.note(CallReturned(*site(frame, call)))

    def _meeting_of(self, frame: Frame, named: Any) -> MeetingState:
        """The meeting that a playbook means, which its agent is in, or was in when it ended."""
        text = "meeting" if named is None else str(named).strip()
        number = frame.state.meeting if text.lower() == "meeting" else parse_meeting_id(text) or text
        meeting = self._journal.state.meetings.get(number or "")
        if meeting is None:
            raise UnknownTarget(f"there is no meeting {named!r}" if named else "this playbook is in no meeting")
        agent = frame.state.agent
        if meeting.status != "ended" and agent not in meeting.joined:
            raise PlaybookError(f"{self.name(agent)} (agent {agent}) is not in meeting {meeting.id}")
        return meeting


def _is_meeting(given: Any) -> bool:
    """Whether an argument names a meeting: `meeting`, `meeting 100` or 100."""
    text = str(given).strip() if isinstance(given, str | int) else ""
    return text.lower() == "meeting" or text.isdecimal() or parse_meeting_id(text) is not None
