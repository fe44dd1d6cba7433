"""The agents and people in meetings, as the rules of meetings reach them and as playbooks name them."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.agents.dispatcher import MessageDispatcher
from runtime.agents.invitations import meetings_of
from runtime.agents.registry import AgentRegistry
from runtime.core.errors import UnknownTarget
from runtime.core.ids import ANYONE, AgentId, PersonId, ScheduleId, is_human_word, parse_agent_id
from runtime.core.message import Message
from runtime.core.plain_text import enumerated
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.targets import SessionPopulation, declared, names_known
from runtime.language.program import Program
from runtime.meetings.meeting import OpenToPeople
from runtime.tape.facts.meetings import HostCued, NoticeHeard
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState


class SessionAttendance:
    def __init__(
        self,
        program: Program,
        journal: Journal,
        agents: AgentRegistry,
        dispatcher: MessageDispatcher,
        pages: SessionPages,
        open_to_people: OpenToPeople,
    ) -> None:
        self._program = program
        self._journal = journal
        self._agents = agents
        self._dispatcher = dispatcher
        self._pages = pages
        self._open_to_people = open_to_people

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
