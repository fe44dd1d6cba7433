"""Messages as they are stored and read."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.ids import AgentId, GuestId, MeetingId, MessageId, PersonId, StreamId, schedule_id
from runtime.core.message import Attachment, Message, MessageType, message_from_data, settled_message
from runtime.core.quote import Quote
from runtime.tape.journal import as_data

PLAIN = Message(MessageId("m1"), AgentId("1000"), "Greeter", "hi", datetime(2026, 1, 1, 12, 30, 0, 5, UTC))
FULL = replace(
    PLAIN,
    created_at=datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    recipient_id=PersonId("web:dan"),
    recipient_class="Human",
    type=MessageType.MEETING_BROADCAST,
    meeting_id=MeetingId("m7"),
    target_agent_ids=frozenset({AgentId("1001"), GuestId.of("Archive"), schedule_id("daily")}),
    stream_id=StreamId("s"),
    ack_required=True,
    ack_within_s=5.0,
    from_human=True,
    sender_name="Dan",
    platform_id="p",
    quote=Quote("q", "Ada", "before"),
    around=(Quote("r", "Bob", "news", "forwarded", ("a.png",), (Quote("", "Grafana", "CPU", "card"),)),),
    past=(Quote("s", "Cleo", "first", "said", said_at=datetime(2026, 1, 1, tzinfo=UTC), person="slack:T:U"),),
    before="was",
    answers="page",
    ends_meeting=True,
    within=MeetingId("100"),
    gone=AgentId("1002"),
    quiet=True,
    aside=True,
    looking_at="a list",
    hops=3,
)


def test_the_full_message_leaves_no_field_at_its_default() -> None:
    same = {name for name in Message.__struct_fields__ if getattr(FULL, name) == getattr(PLAIN, name)}
    assert same == {"id", "sender_id", "sender_class", "content", "attachments"}


@pytest.mark.parametrize("message", [PLAIN, FULL, replace(PLAIN, type="of_my_own")])
def test_a_message_that_is_stored_as_it_is_is_not_made_anew_and_would_be_the_same(message: Message) -> None:
    data, settled = settled_message(message, as_data)
    assert settled is message
    assert _with_kinds(message_from_data(data)) == _with_kinds(message)


@pytest.mark.parametrize(
    "message",
    [
        replace(PLAIN, content="half of \ud83d"),
        replace(FULL, sender_name="\udc00"),
        replace(PLAIN, attachments=(Attachment("a.png", "image/png", "file:1", 3, (), "a note that is not stored"),)),
    ],
)
def test_a_message_that_is_stored_as_another_one_is_read_back(message: Message) -> None:
    data, settled = settled_message(message, as_data)
    assert settled != message
    assert settled == message_from_data(data)


def _with_kinds(message: Message) -> list[tuple[Any, ...]]:
    """All of a message, with the kind of each value and of what is in it."""
    values = [getattr(message, name) for name in message.__struct_fields__]
    return [
        (type(value), value, sorted((str(one), type(one).__name__) for one in value))
        if isinstance(value, frozenset)
        else (type(value), value)
        for value in values
    ]
