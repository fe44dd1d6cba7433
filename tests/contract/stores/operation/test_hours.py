"""What happened in the last hours, counted from the bus into the real store."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from gateway.features.hours.ledger import HOURS, HourLedger
from runtime.bus import Bus
from runtime.events.frames import LLMAnswered, LLMFailed
from runtime.events.sessions import PlaybookFailed
from runtime.events.talk import MessageAdmitted, MessageReceived, PageSent, PageSettled
from runtime.storage.redis.client.connection import open_connection
from tests.fakes.clock import FakeClock
from tests.fakes.servers.valkey import RealValkey

pytestmark = pytest.mark.anyio


def answered(cost_usd: float | None) -> LLMAnswered:
    return LLMAnswered("s", "1", "1000", "Main", "m", "execute", "hi", 1.0, 0.2, 10, 2, 0, cost_usd, "web:x", "web:1")


async def test_each_hour_has_what_came_what_was_answered_and_what_that_took_and_cost(valkey: RealValkey) -> None:
    clock = FakeClock(datetime(2026, 1, 2, 9, 59, 58, tzinfo=UTC))
    bus = Bus(clock)
    async with open_connection(valkey.socket) as connection, anyio.create_task_group() as tasks:
        ledger = HourLedger(connection, clock)
        tasks.start_soon(ledger.follow, bus)
        await anyio.wait_all_tasks_blocked()
        bus.publish(MessageAdmitted("web", "web:1", "in.1", "message"))
        bus.publish(MessageReceived("s", "web:1", "shop", "in.1", "web:7"))
        bus.publish(answered(None))
        await clock.advance(4)
        bus.publish(PageSent("s", "1", "1000.0", 0, "web"))
        bus.publish(PageSent("s", "2", "1000.0", 0, "web"))
        bus.publish(PageSettled("s", "1000", "1", "1000.0", delivered=True))
        bus.publish(answered(0.25))
        bus.publish(answered(None))
        bus.publish(LLMFailed("s", "1", "1000", "Main", "NoModelSet: none"))
        bus.publish(PlaybookFailed("s", "1000", "Main", "no", "there", ()))
        with anyio.fail_after(60):
            while not (day := await ledger.last_day())[-1]["failures"]:
                await clock.advance(0.01)
        tasks.cancel_scope.cancel()
    assert len(day) == HOURS
    nothing: dict[str, object] = dict.fromkeys(
        ("messages", "answers", "failures", "unanswered", "waits", "unpriced"), 0
    )
    nothing |= {"first_text_s": None, "usd": 0.0}
    assert day[0] == {"at": "2026-01-01T11:00:00+00:00", **nothing}
    assert day[-2] == {"at": "2026-01-02T09:00:00+00:00", **nothing, "messages": 1, "usd": None, "unpriced": 1}
    now = {"answers": 1, "failures": 1, "unanswered": 1, "waits": 1, "first_text_s": 4.0, "usd": 0.25, "unpriced": 1}
    assert day[-1] == {"at": "2026-01-02T10:00:00+00:00", **nothing, **now}


async def test_what_came_since_the_last_write_is_counted_when_a_gateway_stops(valkey: RealValkey) -> None:
    clock = FakeClock(datetime(2026, 2, 1, 9, tzinfo=UTC))
    bus, said = Bus(clock), MessageReceived("s", "web:1", "shop", "in.1", "web:7")
    async with open_connection(valkey.socket) as connection:
        ledger = HourLedger(connection, clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ledger.follow, bus)
            await anyio.wait_all_tasks_blocked()
            bus.publish(said)
            with anyio.fail_after(60):
                while not (await ledger.last_day())[-1]["messages"]:
                    await anyio.wait_all_tasks_blocked()
            bus.publish(said)
            tasks.cancel_scope.cancel()
        assert (await ledger.last_day())[-1]["messages"] == 2
