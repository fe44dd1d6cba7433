"""The agents of a session: made, found, connected and kept alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyio.abc import TaskGroup

from runtime.agents.agent import Agent
from runtime.agents.hall import MeetingHall
from runtime.agents.library import Library
from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import HumanParticipant, Participant
from runtime.channels.registry import Channels
from runtime.core.clock import Clock
from runtime.core.errors import ProgramChanged, UnknownTarget
from runtime.core.ids import ANYONE, AgentId
from runtime.core.message import HUMAN_CLASS, Message
from runtime.execution.heard import heard_content
from runtime.execution.host import Executable, Host
from runtime.execution.prompt import said_so_far
from runtime.execution.speech import Pages
from runtime.execution.targets import Target
from runtime.language.program import AgentKind, AgentSpec, Program, TriggerKind
from runtime.tape.journal import Journal

MAX_PAST_TURNS = 20
"""What an interrupted playbook said in so many turns is known to the one that follows."""

FIRST_AGENT = 1000
"""Agents of a session are numbered from here."""


class Supervisor:
    """Keeps the agents of one session: their loops are tasks of the session's group."""

    def __init__(
        self, program: Program, journal: Journal, pages: Pages, tasks: TaskGroup, clock: Clock, bus: Bus
    ) -> None:
        self._program = program
        self._journal = journal
        self._pages = pages
        self._tasks = tasks
        self._clock = clock
        self._bus = bus
        self._agents: dict[str, Agent] = {}
        self._channels = Channels(bus)
        self.human = HumanParticipant(ANYONE, pages, klass=HUMAN_CLASS)
        self.hall = MeetingHall(journal, self, pages, self._channels, clock, bus)
        self._library: Library
        self._host: Host

    def equip(self, library: Library, host: Host) -> None:
        """Give what is made after the supervisor, before any agent lives."""
        self._library = library
        self._host = host
        self.hall.equip(library)
        host.on_returned = self._look

    def _look(self) -> None:
        for agent in self._agents.values():
            agent.look()

    def restore(self) -> None:
        """Wake the agents that the tape knows and the program still has."""
        for id_, agent in self._journal.state.agents.items():
            if id_ not in self._agents and self._program.agent(agent.klass) is not None:
                self._wake(AgentId(id_))

    def start(self, first: Message | None) -> None:
        """Make the agents that exist from the beginning: those that begin or stand by, and the first.

        Those that begin answer the message `first`.
        """
        for spec in self._from_the_beginning():
            self._make(spec.name, first if begins(spec) else None)

    def grow(self) -> list[str]:
        """See `Growing`."""
        known = {agent.klass for agent in self._journal.state.agents.values()}
        return [self._make(spec.name) for spec in self._from_the_beginning() if spec.name not in known]

    def _from_the_beginning(self) -> list[AgentSpec]:
        specs = [spec for spec in self._program.agents if spec.kind is AgentKind.AI]
        standby = [spec for spec in specs[1:] if begins(spec) or spec.metadata.get("startup_mode") == "standby"]
        return [*specs[:1], *standby]

    async def stop(self) -> tuple[bool, list[Message]]:
        """Stop whatever the agents are doing; whether one was doing something, and what people said that nobody read.

        Takes effect before it returns, without waiting for anything; durable with the next commit.
        """
        agents = list(self._agents.values())
        busy = any(self._journal.state.roots(agent.id) for agent in agents)
        unread = [message for agent in agents for message in agent.state.queue]
        for agent in agents:
            await self._stop(agent, drop=[message.id for message in agent.state.queue])
        return busy, [message for message in unread if message.from_human]

    async def interrupt(self, id_: AgentId) -> None:
        """Stop what one agent does, for a message to handle instead; it keeps what was said and its queue."""
        past = [entry for root in self._journal.state.roots(id_) for entry in said_so_far(root)]
        await self._stop(self._agents[id_], past=past[-MAX_PAST_TURNS:])

    async def _stop(self, agent: Agent, *, drop: Sequence[str] = (), past: Sequence[Mapping[str, str]] = ()) -> None:
        roots = self._journal.state.roots(agent.id)
        if not roots and not drop:
            return
        for root in roots:
            await self._host.reap(root.id)
        self._journal.note("stop", agent=agent.id, drop=list(drop), past=list(past), idle=not roots)
        agent.forget(drop)
        agent.interrupt()

    def _make(self, klass: str, first: Message | None = None) -> AgentId:
        id_ = AgentId(str(FIRST_AGENT + len(self._journal.state.agents)))
        more: dict[str, Any] = {"vars": {}}
        if first is not None:
            more = {"vars": {"startup_message": heard_content(first)}, "answering": first.platform_id}
            more["person"] = first.sender_id
        self._journal.note("agent", id=id_, **{"class": klass}, **more)
        self._wake(id_)
        return id_

    def _wake(self, id_: AgentId) -> None:
        agent = self._agents[id_] = Agent(id_, self._journal, self, self._clock, self._bus, self._tasks)
        self._tasks.start_soon(agent.live)

    def recipient(self, text: str, quoted: str | None) -> AgentId:
        """Whom a person's message is for: an agent it names first, the one it quotes (by the platform's id of what it
        said), the one that waits for people, else the first."""
        for id_, agent in self._agents.items():
            name = agent.state.klass.lower()
            if text.lower().startswith((f"@{name}", f"{name}:", f"{name},")):
                return AgentId(id_)
        said = self._journal.state.said.get(quoted or "")
        if said is not None and said.agent in self._agents:
            return AgentId(said.agent)
        waits = [
            w for w in self._journal.state.waits.values() if w.source and (w.source.get("human") or "any" in w.source)
        ]
        for wait in sorted(waits, key=lambda w: w.seq, reverse=True):
            return AgentId(self._journal.state.frames[wait.frame].agent)
        return AgentId(next(iter(self._agents)))

    def forget(self, agent: str, message: str) -> None:
        """An agent's message was taken back, on the tape already."""
        self._agents[agent].forget({message})

    async def hear(self, message: Message, agent: AgentId) -> None:
        """Bring a person's message to an agent, and to the meetings that it takes part in."""
        await self._agents[agent].participant.deliver(message)

    def remind(self, agent: AgentId, message: Message) -> bool:
        """Tell an agent what it wanted to be told; False when it is not there any more. Raises QueueFull."""
        if agent not in self._agents:
            return False
        self._agents[agent].accept(message)
        return True

    # -- whom calls and utterances mean

    def classes(self) -> tuple[str, ...]:
        """See `Population`."""
        return tuple(spec.name for spec in self._program.agents if spec.kind is AgentKind.AI)

    def ensure(self, klass: str) -> AgentId:
        """See `Population`."""
        for id_, agent in self._journal.state.agents.items():
            if agent.klass == klass:
                return AgentId(id_)
        if klass not in self.classes():
            raise UnknownTarget(f"there is no agent class {klass!r}")
        return self._make(klass)

    def find(self, agent: str, name: str) -> tuple[str, Executable] | None:
        """See `Callees`."""
        owner, _, playbook = name.rpartition(".")
        klass = self._journal.state.agents[agent].klass
        if not owner or owner == klass:
            found = self._library.find(klass, playbook)
            return (agent, found) if found is not None else None
        if owner in self._program.remote_agents:
            tool = self._library.find(owner, playbook)
            return (agent, tool) if tool is not None else None
        spec = self._program.agent(owner)
        public = spec.playbook(playbook) if spec else None
        if public is None or not public.public:
            return None
        found = self._library.find(owner, playbook)
        return (self.ensure(owner), found) if found is not None else None

    def of_agent(self, agent: str, name: str) -> Executable | None:
        """See `Callees`."""
        return self._library.find(self._journal.state.agents[agent].klass, name)

    def channel(self, agent: str, target: Target) -> Channel:
        """See `Conduits`."""
        me = self._agents[agent].participant
        if target.meeting is not None:
            return self.hall.channel(str(target.meeting))
        other: Participant = self.human if target.human else self._agents[str(target.recipient)].participant
        return self._channels.direct(me, other)

    def queue(self, agent: str) -> MessageQueue:
        """See `Conduits`."""
        return self._agents[agent].queue

    def participant(self, agent: str) -> Participant:
        """See `Roster`."""
        return self._agents[agent].participant

    # -- what an agent's loop needs

    def beginning(self, klass: str) -> Sequence[Executable]:
        """See `Keeper`."""
        return self._library.beginning(klass)

    def handler(self, klass: str) -> Executable | None:
        """See `Keeper`."""
        return self._library.handler(klass)

    def executable(self, agent: str, playbook: str) -> Executable:
        """See `Keeper`."""
        found = self.of_agent(agent, playbook)
        if found is None:
            raise ProgramChanged(f"{playbook} was running here and is no longer in the program; /new starts afresh")
        return found

    async def run_root(self, frame: str, executable: Executable) -> BaseException | None:
        """See `Keeper`."""
        return await self._host.run_frame(frame, executable)

    async def tell(self, key: str, /, **values: object) -> None:
        """See `Keeper`."""
        await self.say(self._pages.texts(key, **values))

    async def say(self, text: str) -> None:
        """Tell the people of the conversation something that is put together already."""
        self._pages.tell(text)
        await self._journal.commit()


def begins(spec: AgentSpec) -> bool:
    """Whether the agent has playbooks that run at the beginning."""
    return any(t.kind is TriggerKind.BGN for playbook in spec.playbooks for t in playbook.triggers)
