"""Messages and agents for tests."""

from datetime import UTC, datetime

from runtime.channels.message_queue import Match
from runtime.channels.participant import Participant
from runtime.core.ids import AgentId, MeetingId, ParticipantId, new_message_id
from runtime.core.message import Message, MessageType

A, B, C = AgentId("1000"), AgentId("1001"), AgentId("1002")
MEETING = MeetingId("100")


def agent(agent_id: AgentId, got: list[Message] | None = None) -> Participant:
    """An agent; what it hears is added to `got`."""
    return Participant(agent_id, "Agent", (got if got is not None else []).append)


def direct(text: str, sender: ParticipantId = A, recipient: ParticipantId = B) -> Message:
    """What `sender` says to `recipient` alone."""
    return Message(new_message_id(), sender, "Agent", text, datetime(2026, 1, 1, tzinfo=UTC), recipient, "Agent")


def broadcast(text: str, sender: ParticipantId = A, *targets: AgentId, human: bool = False) -> Message:
    """What `sender` says to a whole meeting."""
    return Message(
        id=new_message_id(),
        sender_id=sender,
        sender_class="Human" if human else "Agent",
        content=text,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        type=MessageType.MEETING_BROADCAST,
        meeting_id=MEETING,
        target_agent_ids=frozenset(targets),
        from_human=human,
    )


def texts(messages: list[Message]) -> list[str]:
    """What was said."""
    return [message.content for message in messages]


def from_sender(sender: AgentId) -> Match:
    """Messages of one agent."""
    return lambda message: message.sender_id == sender


def of_meeting(message: Message) -> bool:
    """Whether it is a message of the meeting."""
    return message.meeting_id == MEETING
