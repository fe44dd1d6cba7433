"""The dispatch of messages to the agents of a session: people's messages, reminders, and undelivered messages."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from runtime.agents.registry import AgentRegistry
from runtime.agents.remote_agent import RemoteAgent
from runtime.bus import Bus
from runtime.channels.channel import ChannelRegistry
from runtime.channels.mailbox import ParticipantSeat, SeatMailboxes
from runtime.core.errors import QueueFull, RoutingError
from runtime.core.ids import AgentId, MessageId, PersonId, person_id
from runtime.core.message import Message, MessageType
from runtime.events.talk import MessageUndelivered
from runtime.execution.speech.pages import SessionPages
from runtime.tape.journal import Journal
from runtime.tape.state.frames import counts


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
        anybody.
        """
        state = self._journal.state
        known = None if person is None else state.people.get(person)
        waits = [
            (("person" in w.source or "declared" in w.source), w.seq, state.frames[w.frame].agent)
            for w in state.waits.values()
            if w.source and (w.source.get("human") or "any" in w.source)
            if person is None or counts(w.source, person, known.declared if known else None)
        ]
        return max(waits)[2] if waits else None

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
