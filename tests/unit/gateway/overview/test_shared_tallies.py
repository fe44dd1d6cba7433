"""How models and servers of tools answer, as several processes have seen it. The platforms as a process
has seen them.
"""

from __future__ import annotations

import anyio
import pytest

from gateway.overview.status import SeenPlatforms, SharedPlatforms
from gateway.overview.tallies import EVERY_S, WRITTEN, ServiceTallies, SharedServices
from runtime.bus import Bus
from runtime.events.frames import LLMAnswered
from runtime.events.service import ModelFellBack
from runtime.events.sessions import RemoteConnected, RemoteReturned, RemoteUnreachable
from runtime.events.talk import AdapterConnected, AdapterFailed, AdapterRateLimited, MessageAdmitted, PageSent
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

BOTH = {"here", "there"}


def answered(seconds: float) -> LLMAnswered:
    told = ("s", "1", "1000", "Main", "m", "execute", "hi", seconds, 0.2, 10, 2, 0, 0.1, "web:x", "web:1")
    return LLMAnswered(*told)


async def test_models_and_servers_are_counted_over_all_living_nodes() -> None:
    clock, records = FakeClock(), MemoryRecords()
    here, there = Bus(clock), Bus(clock)
    ours = SharedServices(ServiceTallies(here), records, "here", clock)
    theirs = SharedServices(ServiceTallies(there), records, "there", clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(theirs.run)
        here.publish(answered(1.0))
        here.publish(ModelFellBack("m", "n", "we were refused"))
        here.publish(RemoteUnreachable("Bank", "bank.example", "no route"))
        await clock.advance(EVERY_S)
        for _ in range(WRITTEN + 9):
            there.publish(answered(3.0))
        there.publish(RemoteConnected("Bank", "bank.example", 4))
        there.publish(RemoteReturned("Bank", "bank.example", "Pay", 0.5, None))
        await clock.advance(EVERY_S)
        tally = (await ours.models(BOTH))["m"]
        assert (tally.answers, tally.failures, len(tally.took_s)) == (WRITTEN + 10, 1, WRITTEN + 1)
        assert (tally.data(content=True)["median_s"], tally.error) == (3.0, "we were refused")
        bank = (await ours.servers(BOTH))["Bank"]
        assert (bank.tools, bank.trouble, bank.calls.of("Pay").answers) == (4, None, 1)
        alone = (await ours.servers({"here"}))["Bank"]
        assert (alone.trouble, alone.connected_at, (await ours.models({"here"}))["m"].answers) == ("no route", None, 1)

        await clock.advance(1)
        there.publish(ModelFellBack("m", "n", "words of people"))
        there.publish(RemoteReturned("Bank", "bank.example", "Pay", 0.5, "words of people"))
        await clock.advance(EVERY_S)
        tally = (await ours.models(BOTH))["m"]
        assert (tally.failures, tally.error, tally.error_at) == (2, "", tally.last_at)  # the later one, without words
        assert "words of people" not in str(records.records)
        here.publish(answered(1.0))  # what is asked for changes nothing here
        assert (await ours.models(BOTH))["m"].answers == WRITTEN + 11
        tasks.cancel_scope.cancel()


async def test_a_platform_has_when_it_was_connected_and_what_went_through_it_last() -> None:
    clock = FakeClock()
    bus = Bus(clock)
    seen = SeenPlatforms(bus)
    assert seen.data() == []
    connected = clock.now().isoformat()
    bus.publish(AdapterConnected("telegram"))
    await clock.advance(60)
    bus.publish(MessageAdmitted("telegram", "telegram:1", "m", "message"))
    bus.publish(PageSent("s", "7", "1000.0", 0, "telegram"))
    bus.publish(AdapterRateLimited("7", "telegram:1:2", 0, 3.0))
    later = clock.now().isoformat()
    assert seen.data() == [
        {
            "name": "telegram",
            "connected_at": connected,
            "last_in_at": later,
            "last_out_at": later,
            "paused_at": later,
            "pauses": 1,
            "trouble": None,
        }
    ]


async def test_a_platform_that_refuses_us_says_why_until_it_is_connected() -> None:
    bus = Bus(FakeClock())
    seen = SeenPlatforms(bus)
    bus.publish(AdapterFailed("slack", "the token is refused"))
    assert [(one["trouble"], one["connected_at"]) for one in seen.data()] == [("the token is refused", None)]
    bus.publish(AdapterConnected("slack"))
    assert [one["trouble"] for one in seen.data()] == [None]


async def test_what_other_living_nodes_have_seen_is_one_row_with_ours() -> None:
    clock, records = FakeClock(), MemoryRecords()
    here, there = Bus(clock), Bus(clock)
    ours = SharedPlatforms(SeenPlatforms(here), records, "here", clock)
    theirs = SharedPlatforms(SeenPlatforms(there), records, "there", clock)
    here.publish(AdapterFailed("telegram", "the token is wrong"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(theirs.run)
        await clock.advance(EVERY_S)
        there.publish(AdapterConnected("telegram"))
        there.publish(MessageAdmitted("telegram", "telegram:1", "m", "message"))
        await clock.advance(EVERY_S)
        for _ in range(3):  # what comes close together is one write
            there.publish(AdapterRateLimited("7", "telegram:1:2", 0, 3.0))
        writes = len(records.puts)
        await clock.advance(EVERY_S)
        assert len(records.puts) == writes + 1
        (row,) = await ours.data({"here", "there"})
        assert (row["trouble"], row["pauses"], row["last_in_at"] is None) == (None, 3, False)
        (alone,) = await ours.data({"here"})
        assert (alone["trouble"], alone["connected_at"]) == ("the token is wrong", None)
        assert "there" in records.records  # it may be starting
        await clock.advance(86_401)
        await ours.data({"here"})
        assert records.records == {}
        tasks.cancel_scope.cancel()
