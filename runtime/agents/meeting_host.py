"""The host of a session's meetings: frames that execute meeting playbooks enter and leave it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from runtime.agents.attendance import attendee
from runtime.agents.invitations import SessionInvitations
from runtime.agents.registry import AgentRegistry
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.execution.frames.frame import Frame
from runtime.execution.speech.pages import SessionPages
from runtime.language.program import PlaybookSpec
from runtime.meetings.invitations import AUTOMATIC, BUSY, names_of
from runtime.meetings.meeting import absence, may_join, meeting_of, missing
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState
from runtime.tape.state.meetings import MeetingState


class Places(Protocol):
    """Opens conversations for meetings, and says there who is invited."""

    async def open(self, meeting: MeetingState, people: Sequence[str], /) -> None:
        """Have the meeting held in a conversation of its own, if one can be had; called before anybody is invited.

        `people` are those who are asked to come, by id, or by what the program calls somebody who has not taken part
        yet. People are told where it is and what it is about. Called again for the same meeting it changes nothing.
        """


class MeetingHost:
    """The meetings of one session as agents see them: entered and left by frames, spoken in through channels."""

    def __init__(
        self,
        journal: Journal,
        agents: AgentRegistry,
        pages: SessionPages,
        places: Places,
        meetings: SessionMeetings,
        invitations: SessionInvitations,
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._pages = pages
        self._places = places
        self.meetings = meetings
        self.invitations = invitations

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
