"""The agents of a session: made, found, connected and kept alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyio.abc import TaskGroup

from runtime.agents.agent import Agent
from runtime.agents.library import Library
from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import HumanParticipant, Participant
from runtime.channels.registry import Channels
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError, ProgramChanged, UnknownTarget
from runtime.core.ids import ANYONE, AgentId, MeetingId, parse_meeting_id
from runtime.core.message import HUMAN_CLASS, Message
from runtime.execution.frame import Call, Frame
from runtime.execution.heard import heard_content
from runtime.execution.host import Builtin, Executable, Host, site
from runtime.execution.prompt import said_so_far
from runtime.execution.signatures import call_arguments
from runtime.execution.speech import Pages
from runtime.execution.targets import Target
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program, TriggerKind
from runtime.meetings.meetings import Meetings
from runtime.tape.journal import Journal
from runtime.tape.state import FrameState, MeetingState

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
        self._human = HumanParticipant(ANYONE, pages, klass=HUMAN_CLASS)
        self.meetings = Meetings(journal, self, clock, bus)
        self._library: Library
        self._host: Host

    def equip(self, library: Library, host: Host) -> None:
        """Give what is made after the supervisor, before any agent lives."""
        self._library = library
        self._host = host
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
            return self.meeting_channel(self.meetings.get(target.meeting))
        other: Participant = self._human if target.human else self._agents[str(target.recipient)].participant
        return self._channels.direct(me, other)

    def queue(self, agent: str) -> MessageQueue:
        """See `Conduits`."""
        return self._agents[agent].queue

    def meeting_channel(self, meeting: MeetingState) -> Channel:
        """See `Rooms`."""
        present = [self._agents[who].participant for who in meeting.joined]
        channel = self._channels.meeting(MeetingId(meeting.id), [*present, self._human])
        for participant in list(channel.participants):
            if participant is not self._human and participant.id not in meeting.joined:
                channel.remove_participant(participant.id)
        for participant in present:
            channel.add_participant(participant)
        return channel

    def direct_channel(self, one: AgentId, other: AgentId) -> Channel:
        """See `Rooms`."""
        return self._channels.direct(self._agents[one].participant, self._agents[other].participant)

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

    def invited(self, agent: str, invitation: Message) -> Executable | None:
        """See `Keeper`."""
        meeting = self.meetings.get(str(invitation.meeting_id))
        spec = self._library.meeting(self._journal.state.agents[agent].klass)
        if spec is None or meeting.status == "ended":
            self.meetings.rejected(meeting, agent, "cannot handle this type of meeting")
            return None
        if any(param.default is None for param in spec.params):
            self.meetings.rejected(meeting, agent, f"{spec.name} needs arguments, and an invitation has none")
            return None
        return self.executable(agent, spec.name)

    def joined(self, agent: str, meeting: str) -> None:
        """See `Keeper`."""
        self.meetings.joined(self.meetings.get(meeting), agent)

    # -- meetings as frames

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState:
        """See `Hall`. Raises PlaybookError, as the host's playbook sees it, when required agents do not come."""
        state = frame.state
        if state.meeting is not None:
            current = self.meetings.get(state.meeting)
            if current.frame != frame.id or current.held:
                return current
        required = [self.ensure(klass) for klass in playbook.metadata.get("required_attendees") or ()]
        optional = [self.ensure(klass) for klass in playbook.metadata.get("optional_attendees") or ()]
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

    def _opened(self, state: FrameState, topic: str) -> MeetingState:
        if state.meeting is not None and self.meetings.get(state.meeting).frame == state.id:
            return self.meetings.get(state.meeting)
        return self.meetings.open(state.agent, state.id, topic)

    async def depart(self, meeting: MeetingState, agent: str, /) -> None:
        """See `Hall`. With its host the meeting ends."""
        await self.meetings.leave(meeting, agent, self._journal.state.agents[agent].klass)
        if meeting.host == agent or not meeting.joined:
            await self.meetings.end(meeting)


def begins(spec: AgentSpec) -> bool:
    """Whether the agent has playbooks that run at the beginning."""
    return any(t.kind is TriggerKind.BGN for playbook in spec.playbooks for t in playbook.triggers)
