"""Invitations to the meetings of a session: brought to who is asked, considered by agents, answered, and repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from runtime.agents.human_attendees import HumanAttendees
from runtime.agents.registry import AgentRegistry, MessageDispatcher, SessionChannels
from runtime.core.background import OnDemand
from runtime.core.clock import until
from runtime.core.errors import PlaybookError, QueueFull
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import Message, MessageType
from runtime.execution.frames.frame import ExecutablePlaybook, Frame, FrameCall
from runtime.execution.session_context import SessionContext
from runtime.language.program import PlaybookSpec, Program
from runtime.meetings import invitations as rules
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.state.meetings import MeetingState

_CONSIDERING = "joining"
"""The position of the call by which an agent considers whether it comes."""


class SessionInvitations:
    def __init__(
        self,
        session: SessionContext,
        agents: AgentRegistry,
        channels: SessionChannels,
        dispatcher: MessageDispatcher,
        meetings: SessionMeetings,
        human_attendees: HumanAttendees,
    ) -> None:
        self._program = session.program
        self._journal = session.journal
        self._clock = session.clock
        self._agents = agents
        self._channels = channels
        self._dispatcher = dispatcher
        self._meetings = meetings
        self._human_attendees = human_attendees
        self._asking = OnDemand(self._ask_again)
        self._sleeping: anyio.CancelScope | None = None

    def start(self, tasks: TaskGroup) -> None:
        """Ask those again who have not answered, in `tasks`, when it is time."""
        self._asking.start(tasks)
        self._look()

    def _look(self) -> None:
        self._asking.wake()
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def _ask_again(self) -> None:
        while (due_s := self._next_due()) is not None:
            with anyio.CancelScope() as self._sleeping:
                await until(self._clock, due_s)
            self._sleeping = None
            for meeting, who in self._meetings.to_ask_again():
                self._meetings.ask(meeting, who, meeting.asks[who].by)
                await self.send(meeting, [who])
            self._journal.hurry()

    def _next_due(self) -> float | None:
        asks = (ask.due for meeting in self._meetings.going_on() for ask in meeting.asks.values())
        return min((due for due in asks if due is not None), default=None)

    async def send(self, meeting: MeetingState, asked: Sequence[ParticipantId]) -> None:
        """Bring invitations that are noted to those who are asked. Who can take no more is asked again in time."""
        self._look()
        for who in asked:
            if who not in meeting.asks:
                continue
            if isinstance(who, PersonId):
                self._human_attendees.ask(meeting, who)
            elif isinstance(who, AgentId) and self._agents.lives(who):
                by, text = self._inviter(meeting, who), f"You are invited to meeting {meeting.id}: {meeting.topic}"
                message = self._meetings.message(meeting, text, MessageType.MEETING_INVITATION, sender=by, to=who)
                try:
                    await self._channels.direct(by, who).send(message)
                except QueueFull as error:
                    self._dispatcher.not_taken(message, who, error)

    def _inviter(self, meeting: MeetingState, who: ParticipantId) -> AgentId:
        """The agent that asks `who`: the host does so for people, and for agents that are gone."""
        by = meeting.asks[who].by if who in meeting.asks else meeting.host
        return by if isinstance(by, AgentId) and self._agents.lives(by) else meeting.host

    async def received(self, agent: AgentId, invitation: Message) -> tuple[str, Mapping[str, Any]] | None:
        """The playbook by which an idle agent takes part in a meeting, and its arguments; None when it does not, and
        has said why where anybody waits for that."""
        meeting = self._meetings.get(str(invitation.meeting_id))
        if not meeting.is_pending(agent):
            return None
        playbooks = meetings_of(self._program, self._journal.state.agents[agent].klass)
        spec = rules.fitting(playbooks, meeting.type, meeting.topic)
        if spec is None:
            await self.answer(meeting, agent, rules.cannot_handle(playbooks))
            return None
        if any(param.default is None and param.name not in rules.AUTOMATIC for param in spec.params):
            await self.answer(
                meeting, agent, rules.rejected(f"{spec.name} needs arguments, and an invitation has none")
            )
            return None
        return spec.name, self._arguments(spec, meeting)

    async def busy(self, agent: AgentId, invitation: Message) -> None:
        """The agent is invited, and does something else. Who considers this invitation already answers when that is
        done."""
        meeting = self._meetings.get(str(invitation.meeting_id))
        considers = any(frame.meeting == meeting.id for frame in self._journal.state.roots(agent))
        if meeting.is_pending(agent) and not considers:
            await self.answer(meeting, agent, rules.BUSY)

    async def idle(self, agent: AgentId) -> None:
        """The agent does nothing: it is invited again where it is still waited for."""
        for meeting in self._meetings.going_on():
            if meeting.is_pending(agent) and meeting.invited[agent] == rules.BUSY:
                self._meetings.note_asked(meeting, agent, meeting.asks[agent])  # it counts as the same time
                await self.send(meeting, [agent])
                return

    def wants(self, agent: AgentId) -> bool:
        """Whether an agent was busy when it was asked, and is still waited for."""
        return any(
            meeting.is_pending(agent) and meeting.invited[agent] == rules.BUSY for meeting in self._meetings.going_on()
        )

    async def answer(self, meeting: MeetingState, agent: AgentId, answer: str) -> None:
        to = self._inviter(meeting, agent)
        if self._agents.lives(to):
            kind = MessageType.MEETING_RESPONSE
            await self._channels.direct(agent, to).send(
                self._meetings.message(meeting, answer, kind, sender=agent, to=to)
            )

    def answered(self, response: Message) -> None:
        meeting = self._meetings.get(str(response.meeting_id))
        self._meetings.answered(meeting, response.sender_id, response.content)

    async def come_in(self, frame: Frame, playbook: PlaybookSpec, meeting: MeetingState) -> MeetingState | str:
        """An agent that was invited executes its playbook: now it is in the meeting, unless that has ended meanwhile or
        the agent does not want to come; then the text says so."""
        agent = frame.state.agent
        if meeting.is_pending(agent):
            answer = await self._considered(frame, playbook, meeting)
            await self.answer(meeting, agent, answer)
            await self._journal.commit()
            if answer != rules.JOINED:
                return answer
        was_in = agent in meeting.joined or meeting.invited.get(agent) not in ("", rules.BUSY)
        return meeting if was_in else f"Meeting {meeting.id} has ended"

    async def _considered(self, frame: Frame, playbook: PlaybookSpec, meeting: MeetingState) -> str:
        """The agent's answer: the result of the playbook that it executes before it joins, if it has one."""
        name, klass = playbook.metadata.get(rules.BEFORE_JOINING), frame.agent.klass
        agent = self._program.agent(klass)
        spec = agent.playbook(name) if agent is not None and name is not None else None
        if spec is None:
            return rules.JOINED
        if _CONSIDERING not in frame.state.records:
            call = FrameCall(_CONSIDERING, spec.name, (), self._arguments(spec, meeting))
            try:
                await frame.host.run_child(frame, call, *self._found(frame, spec.name), hidden=True)
            except PlaybookError as error:
                return rules.rejected(str(error))
        record = frame.state.records[_CONSIDERING]
        return rules.answer_of(record.value, record.error)

    def _found(self, frame: Frame, playbook: str) -> tuple[AgentId, ExecutablePlaybook]:
        found = frame.host.find(frame.state.agent, playbook)
        assert found is not None  # the program has it
        return found

    def _arguments(self, spec: PlaybookSpec, meeting: MeetingState) -> dict[str, Any]:
        """The arguments of the playbook by which an agent takes part, or considers it, as far as it has parameters."""
        names = {param.name for param in spec.params}
        told: dict[str, Any] = {"topic": meeting.topic} if "topic" in names else {}
        if "attendees" in names:
            told["attendees"] = [
                self._journal.state.name_of(who) for who in dict.fromkeys((*meeting.joined, *meeting.invited))
            ]
        return told | ({"host": self._journal.state.name_of(meeting.host)} if "host" in names else {})


def meetings_of(program: Program, klass: str) -> list[PlaybookSpec]:
    agent = program.agent(klass)
    return [spec for spec in agent.playbooks if spec.meeting] if agent is not None else []
