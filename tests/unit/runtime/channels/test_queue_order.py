"""However messages are put and taken, each reader finds what is its own, oldest first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.channels.message_queue import MessageQueue
from runtime.core.message import Message
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct, from_sender, of_meeting

pytestmark = pytest.mark.anyio

SENDERS = (A, B, C)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2), st.booleans(), st.booleans()),
        st.tuples(st.just("take"), st.integers(0, 4), st.booleans(), st.booleans()),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(steps=steps)
async def test_as_a_list_would_have_it(steps: list[tuple[str, int, bool, bool]]) -> None:
    queue, expected = MessageQueue(100, FakeClock()), list[Message]()
    for what, which, in_meeting, flag in steps:
        if what == "put":
            message = broadcast("x", SENDERS[which]) if in_meeting else direct("x", SENDERS[which])
            queue.put(message, priority=flag)
            expected.insert(0 if flag else len(expected), message)
            continue
        match = (*map(from_sender, SENDERS), of_meeting, None)[which]
        wanted = [message for message in expected if match is None or match(message)][: 1 if flag else 100]
        got = queue.take(match, max_messages=1 if flag else 100)
        assert got == wanted
        expected = [message for message in expected if message not in got]
    assert queue.take() == expected
