"""The bus inside one process."""

from collections.abc import Callable

import anyio
import pytest

from runtime.bus import Bus
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.fakes.observing.happenings import happened


@pytest.fixture
def bus(clock: FakeClock) -> Bus:
    return Bus(clock)


async def test_an_event_carries_its_name_time_and_data(bus: Bus, clock: FakeClock) -> None:
    seen: list[BusEvent] = []
    bus.subscribe("session.started", seen.append)
    await clock.advance(3)
    bus.publish(happened("session.started", session_id="s1"))
    assert [(e.name, e.at, e.data) for e in seen] == [("session.started", clock.now(), {"session_id": "s1"})]


async def test_a_pattern_selects_events_by_name(bus: Bus) -> None:
    names: dict[str, list[str]] = {"session.*": [], "*": [], "page.sent": [], "*.[se]ent": []}
    for pattern, seen in names.items():
        bus.subscribe(pattern, lambda event, seen=seen: seen.append(event.name))  # type: ignore[misc]
    for name in ("session.started", "page.sent", "session.ended"):
        bus.publish(happened(name))
    assert names == {
        "session.*": ["session.started", "session.ended"],
        "*": ["session.started", "page.sent", "session.ended"],
        "page.sent": ["page.sent"],
        "*.[se]ent": ["page.sent"],
    }


async def test_a_later_subscriber_hears_names_that_were_published_before(bus: Bus) -> None:
    seen: list[BusEvent] = []
    bus.publish(happened("page.sent"))
    bus.subscribe("page.*", seen.append)
    bus.publish(happened("page.sent"))
    assert len(seen) == 1


async def test_unsubscribing_stops_and_may_be_repeated(bus: Bus) -> None:
    seen: list[BusEvent] = []
    unsubscribe = bus.subscribe("*", seen.append)
    bus.publish(happened("page.sent"))
    unsubscribe()
    unsubscribe()
    bus.publish(happened("page.sent"))
    assert len(seen) == 1


async def test_a_failing_subscriber_is_counted_and_harms_nobody(bus: Bus) -> None:
    seen: list[BusEvent] = []

    def fail(event: BusEvent) -> None:
        raise RuntimeError(event.name)

    bus.subscribe("*", fail)
    bus.subscribe("*", seen.append)
    bus.publish(happened("page.sent"))
    assert (len(seen), bus.failures) == (1, 1)


async def test_a_subscriber_may_unsubscribe_others_while_it_is_told(bus: Bus) -> None:
    seen: list[BusEvent] = []
    endings: list[Callable[[], None]] = []
    bus.subscribe("*", lambda _: endings[0]())
    endings.append(bus.subscribe("*", seen.append))
    bus.publish(happened("page.sent"))
    assert seen == []


async def test_events_are_iterated_in_order_until_the_block_ends(bus: Bus) -> None:
    names: list[str] = []
    async with bus.events("page.*", capacity=10) as events, anyio.create_task_group() as tasks:

        async def read() -> None:
            async for event in events:
                names.append(event.name)
                if event.name == "page.closed":
                    return

        tasks.start_soon(read)
        await FakeClock.settle()
        for name in ("page.opened", "session.started", "page.sent", "page.closed"):
            bus.publish(happened(name))
    bus.publish(happened("page.opened"))
    assert names == ["page.opened", "page.sent", "page.closed"]
    assert events.dropped == 0


async def test_a_full_iterator_keeps_the_oldest_and_counts_the_rest(bus: Bus) -> None:
    async with bus.events("*", capacity=2) as events:
        for number in range(5):
            bus.publish(happened("page.sent", number=number))
        assert [(await anext(events)).data["number"] for _ in range(2)] == [0, 1]
    assert (events.dropped, bus.dropped) == (3, 3)
