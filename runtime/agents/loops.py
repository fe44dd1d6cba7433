"""The loops of a session's agents: started, interrupted and stopped, and continued with a changed program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from runtime.agents.agent import Agent
from runtime.agents.library import PlaybookLibrary
from runtime.agents.meeting_host import MeetingHost
from runtime.agents.registry import AgentRegistry, LiveAgent, MessageDispatcher
from runtime.agents.remote_agent import RemoteAgent
from runtime.core.errors import ProgramChanged
from runtime.core.ids import AgentId
from runtime.core.message import Message
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import described
from runtime.execution.free.prompt import said_so_far
from runtime.execution.host import SessionHost
from runtime.execution.session_context import SessionContext
from runtime.language.pbasm.versions import differences, outline
from runtime.language.program import AgentKind, AgentSpec, TriggerKind
from runtime.tape.facts import session as facts
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.registry import hears
from runtime.tape.state.frames import FrameState

MAX_PAST_TURNS = 20
"""The number of turns of an interrupted playbook whose messages its successor knows."""


class AgentLoops(Struct, eq=False):
    """Runs the agents of one session, each in a task of the session's group, from the fact that creates it on."""

    _context: ExecutionContext
    _agents: AgentRegistry
    _dispatcher: MessageDispatcher
    _library: PlaybookLibrary
    _host: SessionHost
    _meeting_host: MeetingHost

    def __post_init__(self) -> None:
        self._host.returned.subscribe(self._look)

    @hears(facts.AgentCreated, facts.AgentDismissed)
    def noted(self, fact: facts.AgentCreated | facts.AgentDismissed) -> None:
        """Follow the facts: a newly created agent starts to live, one that is dismissed ends."""
        if isinstance(fact, facts.AgentCreated):
            self._wake(AgentId(fact.id))
        else:
            self._agents.remove(fact.agent)

    def _wake(self, id_: AgentId) -> None:
        agent: LiveAgent
        if self._context.journal.state.agents[id_].participant is None:
            agent = Agent(id_, self._context, self._library, self._host, self._meeting_host.invitations)
        else:
            agent = self._dispatcher.seat(id_)
        self._agents.add(agent)
        self._context.tasks.start_soon(agent.live)

    def _look(self, agents: Collection[AgentId]) -> None:
        """Have these agents look for work, because something that they executed is gone."""
        self._meeting_host.settle(agents)
        for id_ in agents:
            if self._agents.executes(id_) and isinstance(agent := self._agents.get(id_), Agent):
                agent.look(wanted=self._meeting_host.invitations.wants(id_))

    def restore(self) -> None:
        """Wake the agents that the tape knows and the program still has."""
        for id_, agent in self._context.journal.state.agents.items():
            if not self._agents.lives(id_) and self._context.program.agent(agent.klass) is not None:
                self._wake(id_)

    def start(self, first: Message | None) -> None:
        """Create the agents that exist from the start: those with a start trigger, those on standby, and the first.

        Those with a start trigger answer the message `first`.
        """
        for spec in self._from_the_beginning():
            self._agents.make(spec.name, first if begins(spec) else None)

    def grow(self) -> list[AgentId]:
        """Create the agents that exist from the start and are missing; returns their ids."""
        known = {agent.klass for agent in self._context.journal.state.agents.values()}
        if self._context.journal.state.order is not None:
            return []  # a task does what was ordered, and nothing that a program begins with
        return [self._agents.make(spec.name) for spec in self._from_the_beginning() if spec.name not in known]

    def _from_the_beginning(self) -> list[AgentSpec]:
        specs = [spec for spec in self._context.program.agents if spec.kind is AgentKind.AI]
        standby = [spec for spec in specs[1:] if begins(spec) or spec.metadata.get("startup_mode") == "standby"]
        return [*specs[:1], *standby]

    async def stop(self) -> tuple[bool, list[Message]]:
        """Stop all work of the agents. Returns whether there was any, and the unread messages of people.

        Takes effect before it returns, without waiting for anything; durable with the next commit.
        """
        agents = self._agents.all()
        busy = any(self._context.journal.state.roots(agent.id) for agent in agents)
        unread = [message for agent in agents for message in agent.state.queue]
        for agent in agents:
            self._meeting_host.withdraw(agent.id, "was stopped")
        for agent in agents:
            await self._stop(agent, drop=[message.id for message in agent.state.queue])
        self._meeting_host.settle()
        return busy, [message for message in unread if message.from_human]

    async def interrupt(self, id_: AgentId) -> None:
        """Stop the work of one agent in favour of a message. It keeps its past messages and its queue."""
        past = [entry for root in self._context.journal.state.roots(id_) for entry in said_so_far(root)]
        self._meeting_host.withdraw(id_, "was interrupted")
        await self._stop(self._agents.get(id_), past=past[-MAX_PAST_TURNS:])
        self._meeting_host.settle()

    async def _stop(
        self, agent: LiveAgent, *, drop: Sequence[str] = (), past: Sequence[Mapping[str, str]] = ()
    ) -> None:
        roots = self._context.journal.state.roots(agent.id)
        if not roots and not drop and self._agents.executes(agent.id):
            return
        for root in roots:
            await self._host.reap(root.id)
        self._context.journal.note(facts.AgentStopped(agent.id, dropped=list(drop), past=list(past), idle=not roots))
        agent.forget(drop)
        agent.interrupt()

    async def all_posted(self) -> None:
        """Return when every message to agents in other processes is in their mailboxes."""
        for agent in self._agents.all():
            if isinstance(agent, RemoteAgent):
                await agent.all_posted()


def begins(spec: AgentSpec) -> bool:
    return any(t.kind is TriggerKind.BGN for playbook in spec.playbooks for t in playbook.triggers)


class VersionContinuity(Struct, eq=False):
    """Compares the versions that a session's frames depend on with the current program."""

    _context: SessionContext
    _library: PlaybookLibrary
    _host: SessionHost
    _loops: AgentLoops
    _meeting_host: MeetingHost
    _left_out: list[AgentId] = field(default_factory=list)
    """Guests of meetings that cannot go on in them."""

    async def go_on(self) -> None:
        """Take up the program as it is now. Called before anything is executed.

        A session of which no agent is left in the program, and that executes nothing, ends: another begins. A guest of
        a meeting whose playbook cannot go on is left out of it. Raises ProgramChanged with the reason when something
        else that is being executed cannot go on.
        """
        state, now = self._context.journal.state, outline(self._context.program)
        if state.playbooks == now:
            return
        versions = await self._versions()
        for agent in state.agents.values():
            if agent.queue and self._context.program.agent(agent.klass) is None:
                raise ProgramChanged(f"{agent.klass} has messages to read, and is no longer in the program")
        if not any(self._context.program.agent(agent.klass) for agent in state.agents.values()):
            self._context.journal.note(facts.SessionEnded())
            return
        begun = {str(agent): len(self._library.beginning(state.agents[agent].klass)) for agent in self._begun()}
        self._context.journal.note(
            facts.ProgramAdopted(self._context.program.digest, now, versions, begun, differences(state.playbooks, now))
        )

    def dismiss(self) -> None:
        """The others in their meetings are told who was left out. Called when the agents are there."""
        for agent in self._left_out:
            self._meeting_host.withdraw(agent, "the program was changed")
        self._left_out.clear()

    async def _versions(self) -> dict[str, str]:
        """The versions with which the frames continue, by their ids."""
        frames, versions = self._context.journal.state.frames, dict[str, str]()
        for frame in list(frames.values()):
            try:
                if frame.id in frames:
                    versions[frame.id] = await self._adopted(frame)
            except ProgramChanged as error:
                guest = self._guest(frame)
                if guest is None:
                    raise
                self._leave_out(guest, error)
        return {id_: version for id_, version in versions.items() if id_ in frames}

    def _guest(self, frame: FrameState) -> FrameState | None:
        """The playbook by which a guest takes part in a meeting, where `frame` is it, or was called by it."""
        state = self._context.journal.state
        root = state.frames[frame.id.partition(":")[0]]
        meeting = state.meetings.get(root.meeting or "")
        return None if meeting is None or meeting.host == root.agent else root

    def _leave_out(self, root: FrameState, error: ProgramChanged) -> None:
        """The guest does no more; what was said to one that is no longer in the program, nobody reads."""
        agent = self._context.journal.state.agents[root.agent]
        self._context.journal.note(FrameReturned(root.id, error=described(error)))
        if agent.queue and self._context.program.agent(agent.klass) is None:
            self._context.journal.note(facts.MessagesDropped(agent.id, [message.id for message in agent.queue]))
        self._left_out.append(agent.id)

    async def _adopted(self, state: FrameState) -> str:
        remote, _, name = state.playbook.rpartition(".")
        executable = self._library.find(remote or self._context.journal.state.agents[state.agent].klass, name)
        if executable is None:
            raise ProgramChanged(f"{state.playbook} is being executed here, and is no longer in the program")
        if executable.version != state.version:
            frame = Frame(self._context.journal, state.id, self._host)
            try:
                await executable.adopt(frame)
            finally:
                frame.close()
        return executable.version

    def _begun(self) -> list[AgentId]:
        """Agents for which the beginning is over: playbooks that were added to it are not for them."""
        state = self._context.journal.state
        idle = [agent for agent in state.agents.values() if agent.roots and not state.roots(agent.id)]
        return [*(agent.id for agent in idle if not agent.paused), *self._loops.grow()]
