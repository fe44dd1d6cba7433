"""What is remembered of groups that moved, by this node, by others, and after a restart."""

from __future__ import annotations

import pytest

from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import MessageId
from runtime.core.clock import SystemClock
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

OLD, NEW = -500, -1001000000001


async def test_next_run_knows_where_a_group_is_before_it_hears_of_it() -> None:
    records = MemoryRecords()
    await ChatState(records, SystemClock()).note_moved(OLD, NEW)
    later = ChatState(records, SystemClock())
    await later.load()
    assert (later.current(OLD), later.home(NEW)) == (NEW, OLD)


async def test_node_that_runs_already_asks_when_it_hears_of_the_new_group() -> None:
    records = MemoryRecords()
    other = ChatState(records, SystemClock())
    await other.load()
    await ChatState(records, SystemClock()).note_moved(OLD, NEW)
    await other.look_up(NEW, None)
    assert other.home(NEW) == OLD


def test_in_a_basic_group_a_bot_knows_only_the_numbers_it_was_told() -> None:
    guide = OurBot(None, 777, "Guide")  # type: ignore[arg-type]
    assert guide.knows(NEW, MessageId(5))
    assert guide.knows(OLD, MessageId(5, 777))
    assert not guide.knows(OLD, MessageId(5))
