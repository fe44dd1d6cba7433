"""The agents of a session: made, found, connected and kept alive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from anyio.abc import TaskGroup

from runtime.agents.agent import Agent
from runtime.agents.attendees import attendee
from runtime.agents.invitations import Invitations
from runtime.agents.library import Library
from runtime.agents.meeting_host import MeetingHost
from runtime.agents.remote_agent import RemoteAgent
from runtime.bus import Bus
from runtime.channels.acknowledgements import Acknowledgements
from runtime.channels.channel import Channel
from runtime.channels.extensions import ExtendedChannels
from runtime.channels.mailbox import Mailboxes, NoMailboxes, Seat
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import HumanParticipant, Participant
from runtime.channels.registry import Channels
from runtime.core.clock import Clock
from runtime.core.errors import ProgramChanged, UnknownTarget
from runtime.core.ids import ANYONE, FIRST_AGENT, GUEST, AgentId, MessageId, PersonId
from runtime.core.message import HUMAN_CLASS, Message, MessageType
from runtime.core.texts import Texts
from runtime.execution.free.prompt import said_so_far
from runtime.execution.host import Executable, Host
from runtime.execution.prompt.message_text import heard_content
from runtime.execution.speech.pages import Pages
from runtime.execution.speech.targets import Target
from runtime.language.participants import participant_of
from runtime.language.program import AgentKind, AgentSpec, Program, TriggerKind
from runtime.language.syntax.humans import ANYBODY, humans_of
from runtime.tape.facts.agents import AgentCreated, AgentStopped
from runtime.tape.frame_state import counts
from runtime.tape.journal import Journal

MAX_PAST_TURNS = 20
"""What an interrupted playbook said in so many turns is known to the one that follows."""


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
        self._agents: dict[str, Agent | RemoteAgent] = {}
        spoken_to = (AgentKind.AI, AgentKind.REMOTE)
        self._classes = tuple(spec.name for spec in program.agents if spec.kind in spoken_to)
        self._first: dict[str, AgentId] = {}
        """The first agent of each class that was asked for."""
        self.acknowledgements = Acknowledgements(clock)
        self.channels = Channels(bus, self.acknowledgements, tasks)
        self.mailboxes: Mailboxes = NoMailboxes()
        """The mailboxes of agents in other processes."""
        self.humans = humans_of(program)
        self._guests: Mapping[str, Participant] = {}
        self.human = HumanParticipant(ANYONE, pages, klass=HUMAN_CLASS)
        self._people: dict[str, HumanParticipant] = {}
        self.meeting_host = MeetingHost(journal, self, pages, self.channels, clock, bus)
        self._library: Library
        self._host: Host

    def equip(self, library: Library, host: Host) -> None:
        """Give what is made after the supervisor, before any agent lives."""
        self._library = library
        self._host = host
        host.on_returned = self._look

    def connect(self, mailboxes: Mailboxes, extended: ExtendedChannels | None) -> None:
        """Give the ways to those outside of the session, before any agent lives."""
        self.mailboxes = mailboxes
        if extended is not None:
            extended.attach(self.channels)
            self._guests = extended.guests

    def _look(self, agents: Collection[str]) -> None:
        """Something that these agents executed is no more: they see what there is to do now."""
        self.meeting_host.settle(agents)
        for id_ in agents:
            agent = self._agents.get(id_)
            if isinstance(agent, Agent):
                agent.look(wanted=self.meeting_host.invitations.wants(id_))

    def restore(self) -> None:
        """Wake the agents that the tape knows and the program still has."""
        for id_, agent in self._journal.state.agents.items():
            if id_ not in self._agents and self._program.agent(agent.klass) is not None:
                self._wake(AgentId(id_))

    def start(self, first: Message | None) -> None:
        """Create the agents that exist from the start: those with a start trigger, those on standby, and the first.

        Those with a start trigger answer the message `first`.
        """
        for spec in self._from_the_beginning():
            self._make(spec.name, first if begins(spec) else None)

    def grow(self) -> list[str]:
        known = {agent.klass for agent in self._journal.state.agents.values()}
        if self._journal.state.order is not None:
            return []  # a task does what was ordered, and nothing that a program begins with
        return [self._make(spec.name) for spec in self._from_the_beginning() if spec.name not in known]

    def withdraw(self, agent: str, why: str) -> None:
        self.meeting_host.withdraw(agent, why)

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
            self.meeting_host.withdraw(agent.id, "was stopped")
        for agent in agents:
            await self._stop(agent, drop=[message.id for message in agent.state.queue])
        self.meeting_host.settle()
        return busy, [message for message in unread if message.from_human]

    async def interrupt(self, id_: AgentId) -> None:
        """Stop what one agent does, for a message to handle instead; it keeps what was said and its queue."""
        past = [entry for root in self._journal.state.roots(id_) for entry in said_so_far(root)]
        self.meeting_host.withdraw(id_, "was interrupted")
        await self._stop(self._agents[id_], past=past[-MAX_PAST_TURNS:])
        self.meeting_host.settle()

    async def _stop(
        self, agent: Agent | RemoteAgent, *, drop: Sequence[str] = (), past: Sequence[Mapping[str, str]] = ()
    ) -> None:
        roots = self._journal.state.roots(agent.id)
        if not roots and not drop and not isinstance(agent, RemoteAgent):
            return
        for root in roots:
            await self._host.reap(root.id)
        self._journal.note(AgentStopped(agent.id, dropped=list(drop), past=list(past), idle=not roots))
        agent.forget(drop)
        agent.interrupt()

    def _make(self, klass: str, first: Message | None = None, *, variables: Mapping[str, Any] | None = None) -> AgentId:
        id_ = AgentId(str(FIRST_AGENT + len(self._journal.state.agents)))
        spec = self._program.agent(klass)
        played_by = None if spec is None else participant_of(spec)
        created = AgentCreated(id_, klass, dict(variables or {}), participant=played_by)
        if first is not None:
            begins = {"startup_message": heard_content(first)}
            created = AgentCreated(id_, klass, begins, first.platform_id, str(first.sender_id), played_by)
        self._journal.note(created)
        self._wake(id_)
        return id_

    def _wake(self, id_: AgentId) -> None:
        agent: Agent | RemoteAgent
        if self._journal.state.agents[id_].participant is None:
            agent = Agent(id_, self._journal, self, self._clock, self._bus, self._tasks)
        else:
            seat = Seat(self._journal.session, id_, self._pages.address)
            agent = RemoteAgent(seat, self._journal, self.mailboxes, self, self._clock, self._bus)
        self._agents[id_] = agent
        self._tasks.start_soon(agent.live)

    def remote(self, agent: str) -> RemoteAgent | None:
        """The agent of this id, when it is played in another process."""
        found = self._agents.get(agent)
        return found if isinstance(found, RemoteAgent) else None

    async def all_posted(self) -> None:
        """Return when what was said to agents in other processes is in their mailboxes."""
        for agent in list(self._agents.values()):
            if isinstance(agent, RemoteAgent):
                await agent.all_posted()

    async def undelivered(self, message: Message, agent: AgentId, reason: str) -> None:
        klass = self._journal.state.agents[agent].klass
        text = f"What you said to {klass} was not delivered: {reason}"
        sender = self._agents.get(str(message.sender_id))
        if sender is None:
            self._pages.tell(text)
            return
        notice: dict[str, Any] = {"type": MessageType.UNDELIVERED, "recipient_id": message.sender_id}
        id_ = MessageId(f"{message.id}.undelivered")
        sender.accept(Message(id_, agent, klass, text, self._clock.now(), **notice))

    def recipient(self, text: str, quoted: str | None, person: str | None = None) -> AgentId:
        """The recipient of a message of `person`: an agent that it names, the one that it quotes (by the platform's
        id), the one that waits for people, best for this person, else the first.
        """
        for id_, agent in self._agents.items():
            name = agent.state.klass.lower()
            if text.lower().startswith((f"@{name}", f"{name}:", f"{name},")):
                return AgentId(id_)
        said = self._journal.state.said.get(quoted or "")
        if said is not None and said.agent in self._agents:
            return AgentId(said.agent)
        return self._waiting(person) or AgentId(next(iter(self._agents)))

    def _waiting(self, person: str | None) -> AgentId | None:
        """The agent that waits for this person: the last that waits for nobody else, else the last that waits for
        anybody.
        """
        state = self._journal.state
        known = state.people.get(person or "")
        waits = [
            (("person" in w.source or "declared" in w.source), w.seq, state.frames[w.frame].agent)
            for w in state.waits.values()
            if w.source and (w.source.get("human") or "any" in w.source)
            if person is None or counts(w.source, person, known.declared if known else None)
        ]
        return AgentId(max(waits)[2]) if waits else None

    def forget(self, agent: str, message: str) -> None:
        """An agent's message was taken back, on the tape already."""
        self._agents[agent].forget({message})

    async def hear(self, message: Message, agent: AgentId) -> None:
        """Bring a person's message to an agent, by the channel of the two."""
        here = self._agents[agent].participant
        await self.channels.direct(self._person(str(message.sender_id)), here).send(message)

    def remind(self, agent: AgentId, message: Message) -> bool:
        """Give an agent its reminder; False when the agent no longer exists. Raises QueueFull."""
        if agent not in self._agents:
            return False
        self._agents[agent].accept(message)
        return True

    # -- whom calls and utterances mean

    def classes(self) -> tuple[str, ...]:
        return self._classes

    @property
    def guests(self) -> Collection[str]:
        """See `Population`."""
        return self._guests.keys()

    def ensure(self, klass: str) -> AgentId:
        """See `Population`. Costs the same however many agents there are, once one of the class was found."""
        agents = self._journal.state.agents
        if klass not in self._first:
            found = next((id_ for id_, agent in agents.items() if agent.klass == klass), None)
            if found is not None:
                self._first[klass] = AgentId(found)
        if klass in self._first:
            return self._first[klass]
        if klass not in self.classes():
            raise UnknownTarget(f"there is no agent class {klass!r}")
        return self._make(klass)

    def create(self, klass: str, variables: Mapping[str, Any], /) -> AgentId:
        if klass not in self.classes():
            raise UnknownTarget(f"there is no agent class {klass!r}")
        return self._make(klass, variables=variables)

    def attendee(self, name: str, host: str) -> str:
        return attendee(name, host, self._journal.state, self)

    def lives(self, agent: str) -> bool:
        return agent in self._agents

    def executes(self, agent: str) -> bool:
        return isinstance(self._agents.get(agent), Agent)

    def notifies(self, person: str) -> bool:
        known = self._journal.state.people.get(person)
        spec = next((spec for spec in self.humans if known is not None and spec.declared == known.declared), ANYBODY)
        return spec.delivery.meeting_notifications != "none"

    def find(self, agent: str, name: str) -> tuple[str, Executable] | None:
        owner, _, playbook = name.rpartition(".")
        klass = self._journal.state.agents[agent].klass
        if not owner or owner == klass:
            found = self._library.find(klass, playbook)
            return (agent, found) if found is not None else None
        if owner in self._program.remote_agents:
            tool = self._library.find(owner, playbook)
            return (agent, tool) if tool is not None else None
        spec = self._program.agent(owner)
        named = spec.playbook(playbook) if spec else None
        if named is None:
            return None
        if not named.public:
            raise UnknownTarget(f"{playbook} of {owner} is not public, so other agents cannot call it")
        found = self._library.find(owner, playbook)
        return (self.ensure(owner), found) if found is not None else None

    def of_agent(self, agent: str, name: str) -> Executable | None:
        return self._library.find(self._journal.state.agents[agent].klass, name)

    def channel(self, agent: str, target: Target) -> Channel:
        me = self._agents[agent].participant
        if target.meeting is not None:
            return self.meeting_host.channel(str(target.meeting))
        return self.channels.direct(me, self.participant(str(target.recipient)))

    def queue(self, agent: str) -> MessageQueue:
        return self._agents[agent].queue

    def participant(self, who: str) -> Participant:
        if who in self._agents:
            return self._agents[who].participant
        if who == ANYONE:
            return self.human
        if who.startswith(GUEST):
            return self._guests[who.removeprefix(GUEST)]
        if who not in self._journal.state.people:
            raise KeyError(who)
        return self._person(who)

    def _person(self, who: str) -> HumanParticipant:
        """A person, or a schedule, which is nobody that the session knows."""
        known = self._journal.state.people.get(who)
        klass = (known.declared if known is not None else None) or HUMAN_CLASS
        return self._people.setdefault(who, HumanParticipant(PersonId(who), self._pages, klass=klass))

    # -- what an agent's loop needs

    @property
    def reception(self) -> Invitations:
        return self.meeting_host.invitations

    def beginning(self, klass: str) -> Sequence[Executable]:
        return self._library.beginning(klass)

    def receiver(self, klass: str, messages: Sequence[Message]) -> tuple[Executable, bool] | None:
        return self._library.receiver(klass, messages)

    def triggered(self, klass: str, code: str) -> Executable | None:
        return self._library.find(klass, code.split(":")[1]) if code.count(":") else None

    def handler(self, klass: str) -> Executable | None:
        return self._library.handler(klass)

    def executable(self, agent: str, playbook: str) -> Executable:
        found = self.of_agent(agent, playbook)
        if found is None:
            raise ProgramChanged(f"{playbook} was running here and is no longer in the program")
        return found

    async def run_root(self, frame: str, executable: Executable) -> BaseException | None:
        return await self._host.run_frame(frame, executable)

    @property
    def texts(self) -> Texts:
        return self._pages.texts

    async def tell(self, key: str, /, **values: object) -> None:
        await self.say(self.texts(key, **values))

    async def say(self, text: str) -> None:
        """Tell the people of the conversation something that is put together already."""
        self._pages.tell(text)
        await self._journal.commit()


def begins(spec: AgentSpec) -> bool:
    """Whether the agent has playbooks with a start trigger."""
    return any(t.kind is TriggerKind.BGN for playbook in spec.playbooks for t in playbook.triggers)
