"""The host of a session's meetings, which frames that execute meeting playbooks enter and leave, and who attends them,
as the rules of meetings reach agents and people, and as playbooks name them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeAlias

from msgspec import Struct

from runtime.agents.invitations import SessionInvitations, meetings_of
from runtime.agents.registry import AgentRegistry, MessageDispatcher
from runtime.core.errors import UnknownTarget
from runtime.core.ids import ANYONE, AgentId, ParticipantId, PersonId, ScheduleId, is_human_word, parse_agent_id
from runtime.core.message import Message
from runtime.core.plain_text import enumerated
from runtime.execution.frames.frame import Frame
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.targets import SessionPopulation, declared, names_known
from runtime.language.program import PlaybookSpec, Program
from runtime.meetings.meeting import AUTOMATIC, BUSY, OpenToPeople, absence, may_join, meeting_of, missing, names_of
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.facts.meetings import HostCued, NoticeHeard
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState


class SessionAttendance(Struct, eq=False):
    _program: Program
    _journal: Journal
    _agents: AgentRegistry
    _dispatcher: MessageDispatcher
    _pages: SessionPages
    _open_to_people: OpenToPeople

    def hear(self, agent: AgentId, message: Message) -> None:
        self._dispatcher.notify(agent, message)

    def welcome(self, meeting: MeetingState, agent: AgentId, history: Message) -> None:
        """Greet an agent. A model is told with its first turn, code by its first wait."""
        frame = next((f for f in self._journal.state.roots(agent) if f.meeting == meeting.id), None)
        if frame is not None and self._is_prose(frame):
            self._journal.note(NoticeHeard(frame.id, history))
        else:
            self.hear(agent, history)

    def brief(self, meeting: MeetingState, message: Message) -> None:
        if self.host_reads(meeting):
            self._journal.note(NoticeHeard(meeting.frame, message))
        else:
            self.hear(meeting.host, message)

    def cue(self, meeting: MeetingState, message: Message) -> None:
        """Ask the host to start. A model is told with its first turn, code by its first wait, unless it has started."""
        if self._is_prose(self._journal.state.frames[meeting.frame]):
            self._journal.note(NoticeHeard(meeting.frame, message))
        else:
            self._journal.note(HostCued(meeting.id, message, meeting.frame))

    def _is_prose(self, frame: FrameState) -> bool:
        """Whether a frame executes a meeting playbook in natural language."""
        specs = meetings_of(self._program, self._journal.state.agents[frame.agent].klass)
        return any(spec.name == frame.playbook and spec.kind == "llm" for spec in specs)

    def announce(self, meeting: MeetingState, text: str) -> None:
        """Tell people a notice, unless nobody in the meeting wants notices."""
        if any(self._agents.notifies(person) for person in meeting.people):
            self._pages.tell(text, meeting.place)

    def host_reads(self, meeting: MeetingState) -> bool:
        frame = self._journal.state.frames.get(meeting.frame)
        return frame is not None and self._is_prose(frame)

    def announce_absent(self, meeting: MeetingState, names: Sequence[str]) -> None:
        """Tell people who is missing. For a meeting without people, they are told where its messages are shown."""
        people = meeting.people
        if any(map(self._agents.notifies, people)) if people else self._open_to_people(meeting):
            text = self._pages.texts
            named = enumerated(names, text("meeting.and"))
            self._pages.tell(text("meeting.waiting", names=named), meeting.place)

    def waiting_for(self, meeting: MeetingState) -> list[AgentId]:
        state = self._journal.state
        waits = [wait for wait in state.waits.values() if wait.source and wait.source.get("meeting") == meeting.id]
        return list(dict.fromkeys(state.frames[wait.frame].agent for wait in waits))


def attendee(name: str, host: AgentId, state: SessionState, population: SessionPopulation) -> AgentId | PersonId:
    """The id of an agent or a person, or what somebody is called in the program who has not taken part yet.

    `user` is who the agent `host` has heard last, else whoever is here. Raises UnknownTarget.
    """
    if is_human_word(name):
        here = [person for person in (state.agents[host].person, state.person) if person is not None]
        return next((person for person in here if not isinstance(person, ScheduleId)), ANYONE)
    number = parse_agent_id(name)
    if number is not None and number in state.agents:
        return number
    if name in population.classes():
        return population.ensure(name)
    human = declared(name, population)
    if human is not None:
        bound = (id_ for id_, person in state.people.items() if person.declared == human.declared)
        return next(bound, PersonId(human.declared))
    people = state.people_named(name)
    if people:
        return people[0]
    raise UnknownTarget(f"nobody called {name!r} can be invited; known are {', '.join(names_known(state, population))}")


OpenPlace: TypeAlias = Callable[[MeetingState, Sequence[str]], Awaitable[None]]
"""Has a meeting held in a conversation of its own, if one can be had, before anybody is invited: people who are asked
to come, by id, or by what the program calls somebody who has not taken part yet. Again it changes nothing."""


class MeetingHost(Struct, eq=False):
    """The meetings of one session as agents see them: entered and left by frames, spoken in through channels."""

    _journal: Journal
    _agents: AgentRegistry
    _pages: SessionPages
    _open_place: OpenPlace
    meetings: SessionMeetings
    invitations: SessionInvitations

    # -- for people, and what they order

    async def invite(self, meeting: MeetingState, by: ParticipantId, names: Sequence[str]) -> list[AgentId | PersonId]:
        """Have agents and people asked, named as playbooks name them; returns who was asked now, by id.

        `by` is an agent or a person. Who is in it, or is asked already, is not asked again. Raises UnknownTarget.
        """
        wanted = [attendee(name, meeting.host, self._journal.state, self._agents) for name in names]
        asked = [who for who in dict.fromkeys(wanted) if may_join(meeting, who) and who not in meeting.pending]
        for who in asked:
            self.meetings.ask(meeting, who, by)
        self.meetings.tell_of_invitations(meeting, by, asked)
        await self.invitations.send(meeting, asked)
        return asked

    # -- meetings as frames

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState | str:
        """Raises UnknownTarget and PlaybookError for attendees that nobody can be."""
        state = frame.state
        meeting = self._journal.state.meetings.get(state.meeting or "")
        if meeting is not None and meeting.frame != frame.id:
            if state.caller is None:
                return await self.invitations.come_in(frame, playbook, meeting)
            meeting = None
        if meeting is None:
            current = meeting_of(self._journal.state, state.agent)
            if current is not None:
                name = self._journal.state.name_of(state.agent)
                return f"The meeting did not take place: {name}: {BUSY} with meeting {current.id}"
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
                await self._open_place(meeting, people)
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
            self.meetings.end(meeting, by=meeting.host, why=absence(meeting, self._journal.state.name_of))
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
        found = dict.fromkeys(attendee(name, host, self._journal.state, self._agents) for name in names)
        return [who for who in found if who != host]

    async def depart(self, meeting: MeetingState, frame: Frame, failure: Exception | None = None, /) -> None:
        """The meeting ends when its host returns, unless the host had left before."""
        agent = frame.state.agent
        why = None if failure is None else f"{self._journal.state.name_of(agent)} failed: {failure}"
        if meeting.frame != frame.id:
            self.meetings.leave(meeting, agent, why and "it failed")
        elif agent in meeting.joined:
            self.meetings.end(meeting, by=agent, why=why)

    def withdraw(self, agent: AgentId, why: str) -> None:
        """End the meeting that a stopped agent holds, and take it out of the one that it is in."""
        meeting = meeting_of(self._journal.state, agent)
        if meeting is not None and meeting.host == agent:
            self.meetings.end(meeting, by=agent, why=f"{self._journal.state.name_of(agent)} {why}")
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
            gone = [who for who in asked if (who, meeting.id) not in there and self._agents.executes(who)]
            for who in gone:
                self.withdraw(who, "was stopped")
