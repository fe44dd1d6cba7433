"""What participants say, read: understood, or refused with a reason, whatever it is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.features.participants.frames import MAX_FRAME_BYTES, Acknowledged, BadSeatFrame, Hello, read_frame
from runtime.sessions.inbound.participants import SeatAct

KEYS = (
    "type",
    "id",
    "seat",
    "to",
    "text",
    "meeting",
    "answer",
    "entry",
    "version",
    "after",
    "name",
    "value",
    "expected",
)
KINDS = ("hello", "ack", "say", "answer", "leave", "share", "else")

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([*KINDS, "JOINED", "REJECTED - no", "1-0", "s/1001", "\ud800"]),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
def test_whatever_is_said_is_understood_or_refused(kind: str, data: dict[str, Any]) -> None:
    text = json.dumps({"type": kind, **data})
    try:
        frame = read_frame(text)
    except BadSeatFrame:
        return
    if isinstance(frame, SeatAct):
        assert SeatAct.read(str(frame)) == frame
        assert str(frame).encode().decode() == str(frame)


@pytest.mark.parametrize(
    ("frame", "read"),
    [
        ({"type": "hello", "version": 1}, Hello(1)),
        ({"type": "hello", "version": 1, "after": "5-0", "more": True}, Hello(1, "5-0")),
        ({"type": "ack", "entry": "5-0"}, Acknowledged("5-0")),
        (
            {"type": "say", "id": "1", "seat": "s/1001", "to": " user ", "text": " kept as it is\n"},
            SeatAct("s/1001", "say", "1", to="user", text=" kept as it is\n"),
        ),
        (
            {"type": "answer", "id": "2", "seat": "s/1001", "meeting": "100", "answer": "REJECTED - busy"},
            SeatAct("s/1001", "answer", "2", meeting="100", text="REJECTED - busy"),
        ),
        (
            {"type": "leave", "id": "3", "seat": "s/1001", "meeting": "100"},
            SeatAct("s/1001", "leave", "3", meeting="100"),
        ),
        (
            {"type": "share", "id": "4", "seat": "s", "meeting": "100", "name": "a", "value": [1], "expected": 0},
            SeatAct("s", "share", "4", meeting="100", text="[1]", name="a", expected=0),
        ),
    ],
)
def test_every_frame_of_the_protocol_is_read(frame: dict[str, Any], read: object) -> None:
    assert read_frame(json.dumps(frame)) == read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type": "say", "id": "1", "seat": "s", "to": "user", "text": "\\ud800"}', "JSON object"),
        (
            '{"type": "say", "id": "' + "x" * 101 + '", "seat": "s", "to": "user", "text": "y"}',
            "at most 100 characters",
        ),
        ('"' + "x" * MAX_FRAME_BYTES + '"', f"at most {MAX_FRAME_BYTES} bytes"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadSeatFrame, match=reason):
        read_frame(text)
