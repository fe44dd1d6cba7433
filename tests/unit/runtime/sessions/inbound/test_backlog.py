"""What waits for a session keeps its order; a stop overtakes what people said."""

from datetime import UTC, datetime

from runtime.core.address import Address
from runtime.sessions.inbound.arrivals import ShardBacklog, StopRequest
from runtime.stores.inbox import InboxEntry, InboxEvent


def entry(number: int, kind: str = "message") -> InboxEntry:
    event = InboxEvent(str(number), Address("test", "1"), "test:1", "Ada", "", datetime(2026, 1, 1, tzinfo=UTC), kind)
    return InboxEntry(0, str(number), event)


def test_a_stop_takes_what_was_said_before_it_along_and_leaves_commands() -> None:
    backlog = ShardBacklog()
    said, command, stop, later = entry(1), entry(2, "new"), entry(3, "stop"), entry(4)
    for one in (said, command, stop, later):
        backlog.put(one)
    assert len(backlog) == 3
    assert backlog.take_stop() == StopRequest(stop, (said,))
    assert [backlog.take(), backlog.take(), backlog.take()] == [command, later, None]


def test_what_was_not_processed_comes_first_again_and_a_stop_overtakes_it_too() -> None:
    backlog = ShardBacklog()
    first, second, stop, last = entry(1), entry(2), entry(3, "stop"), entry(4)
    for one in (second, stop, last):
        backlog.put(one)
    backlog.put_back([first])
    assert backlog.take_stop() == StopRequest(stop, (first, second))
    assert backlog.take() == last
    assert len(backlog) == 0
