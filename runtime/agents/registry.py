"""The agents and people of a session: found by id, class or name, created, and the channels between them; and the
dispatch of messages to agents: people's messages, reminders, and undelivered messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from msgspec import Struct

from runtime.agents.remote_agent import RemoteAgent
from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.channels.mailbox import ParticipantSeat, SeatMailboxes
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Participant
from runtime.core.errors import QueueFull, RoutingError, UnknownTarget
from runtime.core.ids import (
    ANYONE,
    FIRST_AGENT,
    AgentId,
    CounterpartId,
    GuestId,
    MeetingId,
    MessageId,
    ParticipantId,
    PersonId,
    person_id,
)
from runtime.core.message import HUMAN_CLASS, Message, MessageType
from runtime.events.talk import MessageUndelivered
from runtime.execution.prompt.message_text import PAST_VARIABLE, past_lines
from runtime.execution.prompt.with_files import heard_with_files
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.targets import SpeechTarget, human_of
from runtime.language.program import AgentKind, Program
from runtime.language.remote import participant_of
from runtime.language.syntax.humans import humans_of
from runtime.meetings.meeting import OpenToPeople
from runtime.tape.facts.meetings import MeetingCreated
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentCreated
from runtime.tape.journal import Journal
from runtime.tape.state.frames import counts
from runtime.tape.state.session import AgentState


class LiveAgent(Protocol):
    """An agent in memory, whose playbooks are executed here (`Agent`) or in another process (`RemoteAgent`)."""

    id: AgentId
    queue: MessageQueue
    participant: Participant

    @property
    def state(self) -> AgentState: ...
    def accept(self, message: Message) -> None: ...
    def forget(self, messages: Collection[str]) -> None: ...
    def interrupt(self) -> None: ...
    async def live(self) -> None: ...


class AgentRegistry:
    """The agents and people of one session. An agent is made by a fact; `AgentLoops` adds it here on hearing that."""

    def __init__(self, program: Program, journal: Journal, guests: Mapping[str, Participant]) -> None:
        """`guests` are the participants that extensions add, by name."""
        self._program = program
        self._journal = journal
        self._guests = guests
        spoken_to = (AgentKind.AI, AgentKind.REMOTE)
        self._classes = tuple(spec.name for spec in program.agents if spec.kind in spoken_to)
        self._agents: dict[str, LiveAgent] = {}
        self._first: dict[str, AgentId] = {}
        """The first agent of each class that was requested."""
        self._people: dict[str, Participant] = {}
        self.humans = humans_of(program)
        self.human = Participant(ANYONE, HUMAN_CLASS, _reads_pages)
        """Any of the people here."""

    def classes(self) -> tuple[str, ...]:
        return self._classes

    @property
    def guests(self) -> Collection[str]:
        return self._guests.keys()

    # -- making

    def ensure(self, klass: str) -> AgentId:
        """The first agent of a class, made if there is none. Costs the same however many agents there are, once one of
        the class was found. Raises UnknownTarget."""
        agents = self._journal.state.agents
        if klass not in self._first:
            found = next((id_ for id_, agent in agents.items() if agent.klass == klass), None)
            if found is not None:
                self._first[klass] = AgentId(found)
        return self._first[klass] if klass in self._first else self.create(klass, {})

    def create(self, klass: str, variables: Mapping[str, Any], /) -> AgentId:
        """A new agent of a class. Raises UnknownTarget."""
        if klass not in self._classes:
            raise UnknownTarget(f"there is no agent class {klass!r}")
        return self.make(klass, variables=variables)

    def make(self, klass: str, first: Message | None = None, *, variables: Mapping[str, Any] | None = None) -> AgentId:
        """A new agent of a class of the program, which starts by answering the message `first`."""
        id_ = AgentId(str(FIRST_AGENT + self._journal.state.made))
        spec = self._program.agent(klass)
        played_by = None if spec is None else participant_of(spec)
        created = AgentCreated(id_, klass, dict(variables or {}), participant=played_by)
        if first is not None:
            begins = {"startup_message": heard_with_files(first)}
            if first.past:
                begins[PAST_VARIABLE] = "\n".join(past_lines(first.past))
            created = AgentCreated(id_, klass, begins, first.platform_id, person_id(first.sender_id), played_by)
        self._journal.note(created)
        return id_

    def add(self, agent: LiveAgent) -> None:
        self._agents[agent.id] = agent

    def remove(self, agent: AgentId) -> None:
        """Take an agent out of memory that is no longer on the tape; it ends its life."""
        self._agents.pop(agent).interrupt()

    # -- finding

    def get(self, agent: str) -> LiveAgent:
        """The agent of this id. Raises KeyError."""
        return self._agents[agent]

    def all(self) -> list[LiveAgent]:
        return list(self._agents.values())

    def remote(self, agent: str) -> RemoteAgent | None:
        found = self._agents.get(agent)
        return found if isinstance(found, RemoteAgent) else None

    def lives(self, agent: str) -> bool:
        """Whether the agent exists; a changed program may have no such agent."""
        return agent in self._agents

    def executes(self, agent: str) -> bool:
        return agent in self._agents and self.remote(agent) is None

    def participant(self, who: ParticipantId) -> Participant:
        if isinstance(who, AgentId):
            return self._agents[who].participant
        if who == ANYONE:
            return self.human
        if isinstance(who, GuestId):
            return self._guests[who.name]
        if isinstance(who, CounterpartId) or who not in self._journal.state.people:
            raise KeyError(who)
        return self.person(who)

    def person(self, who: PersonId) -> Participant:
        """A person, or a schedule, which the session does not know as a person."""
        known = self._journal.state.people.get(who)
        klass = (known.declared if known is not None else None) or HUMAN_CLASS
        return self._people.setdefault(who, Participant(who, klass, _reads_pages))

    def notifies(self, person: str) -> bool:
        return human_of(person, self._journal.state, self.humans).delivery.meeting_notifications != "none"


class SessionChannels(Struct, eq=False):
    """The channels of one session: each created when first needed, that of a meeting with the meeting."""

    _journal: Journal
    _agents: AgentRegistry
    _channels: ChannelRegistry
    _open_to_people: OpenToPeople

    def queue(self, agent: AgentId) -> MessageQueue:
        return self._agents.get(agent).queue

    def channel(self, agent: AgentId, target: SpeechTarget) -> Channel:
        return (
            self.direct(agent, target.recipient or ANYONE) if target.meeting is None else self.meeting(target.meeting)
        )

    @hears(MeetingCreated)
    def noted(self, fact: MeetingCreated) -> None:
        """A meeting has its channel from its beginning, before anybody is invited."""
        self.meeting(fact.id)

    def direct(self, one: ParticipantId, other: ParticipantId) -> Channel:
        return self._channels.direct(self._agents.participant(one), self._agents.participant(other))

    def meeting(self, meeting: str) -> Channel:
        """The channel of a meeting. It includes those who have joined and, where people look on, their display."""
        known = self._journal.state.meetings[meeting]
        present = [self._agents.participant(who) for who in known.joined]
        present += [self._agents.human] if not known.people and self._open_to_people(known) else []
        channel = self._channels.meeting(MeetingId(known.id), present)
        here = {participant.id for participant in present}
        for participant in channel.participants:
            if participant.id not in here:
                channel.remove_participant(participant.id)
        return channel


def _reads_pages(_message: Message) -> None:
    """People see what is said to them on pages."""


def names_first(text: str, klass: str) -> bool:
    """Whether a text begins with the name of an agent, as one does that is for it."""
    name = klass.lower()
    return text.lower().startswith((f"@{name}", f"{name}:", f"{name},"))


class MessageDispatcher(Struct, eq=False):
    """`mailboxes` are those of agents in other processes."""

    _journal: Journal
    _bus: Bus
    _agents: AgentRegistry
    _channels: ChannelRegistry
    _pages: SessionPages
    _mailboxes: SeatMailboxes

    def recipient(self, text: str, quoted: str | None, person: PersonId | None = None) -> AgentId:
        """The recipient of a message of `person`: an agent that it names, the one that it quotes (by the platform's
        id), the one that waits for people, best for this person, else the first.
        """
        agents = self._agents.all()
        for agent in agents:
            if names_first(text, agent.state.klass):
                return agent.id
        said = self._journal.state.said.get(quoted or "")
        if said is not None and self._agents.lives(said.agent):
            return AgentId(said.agent)
        return self._waiting(person) or agents[0].id

    def _waiting(self, person: PersonId | None) -> AgentId | None:
        """The agent that waits for this person: the last that waits for nobody else, else the last that waits for
        anybody; one that waits only to try again what failed comes behind all others.
        """
        state = self._journal.state
        known = None if person is None else state.people.get(person)
        waits = [
            (
                "retry" not in w.source,
                not {"person", "declared"}.isdisjoint(w.source),
                w.seq,
                state.frames[w.frame].agent,
            )
            for w in state.waits.values()
            if w.source and (w.source.get("human") or "any" in w.source)
            if person is None or counts(w.source, person, known.declared if known else None)
        ]
        return max(waits)[-1] if waits else None

    async def hear(self, message: Message, agent: AgentId) -> None:
        """Deliver a person's message to an agent, by the channel of the two. If it is not taken, people are told."""
        here = self._agents.get(agent).participant
        try:
            await self._channels.direct(self._agents.person(person_id(message.sender_id)), here).send(message)
        except (QueueFull, RoutingError) as error:
            await self._undelivered(message, agent, str(error))

    def deliver(self, agent: AgentId, message: Message) -> bool:
        """Deliver a message that comes by no channel; False when the agent no longer exists. Raises QueueFull."""
        if not self._agents.lives(agent):
            return False
        self._agents.get(agent).accept(message)
        return True

    def notify(self, agent: AgentId, message: Message) -> None:
        """Deliver a notice to an agent. A full queue drops it, which is published."""
        try:
            self.deliver(agent, message)
        except QueueFull as error:
            self.not_taken(message, agent, error)

    def not_taken(self, message: Message, who: str, error: QueueFull) -> None:
        undelivered = MessageUndelivered(
            str(error), meeting_id=message.meeting_id, participant_id=who, message_id=message.id
        )
        self._bus.publish(undelivered)

    def forget(self, agent: str, message: str) -> None:
        """Remove a message that was taken back from an agent; the tape has that already."""
        self._agents.get(agent).forget({message})

    def seat(self, id_: AgentId) -> RemoteAgent:
        seat = ParticipantSeat(self._journal.session, id_, self._pages.address)
        return RemoteAgent(seat, self._journal, self._mailboxes, self._undelivered, self._bus)

    async def _undelivered(self, message: Message, agent: AgentId, reason: str) -> None:
        """Tell the sender of `message` to `agent` that it was not delivered; it is no longer in the agent's queue."""
        klass = self._journal.state.agents[agent].klass
        text = f"What you said to {klass} was not delivered: {reason}"
        if not self._agents.lives(str(message.sender_id)):
            self._pages.tell(text)
            return
        notice: dict[str, Any] = {"type": MessageType.UNDELIVERED, "recipient_id": message.sender_id}
        id_ = MessageId(f"{message.id}.undelivered")
        self.notify(AgentId(str(message.sender_id)), Message(id_, agent, klass, text, self._bus.clock.now(), **notice))
