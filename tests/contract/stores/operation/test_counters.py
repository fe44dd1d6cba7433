"""Sums that vanish, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.inbound.usage_limits import UsageCounters
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.records import RedisCounters
from tests.contract.setups import SETUPS, location_of
from tests.fakes.clock import FakeClock
from tests.fakes.memory.counters import MemoryCounters

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *SETUPS])
async def counters(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[UsageCounters]:
    if request.param == "memory":
        yield MemoryCounters()
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield RedisCounters(connection)


async def test_amounts_add_up(counters: UsageCounters) -> None:
    assert await counters.add("a", 1, once="1", ttl_s=60) == 1
    assert await counters.add("a", 0.25, once="2", ttl_s=60) == 1.25
    assert await counters.add("b", 7, once="1", ttl_s=60) == 7
    assert list(await counters.read(["b", "nothing", "a"])) == [7, 0, 1.25]
    assert list(await counters.read([])) == []


async def test_the_same_addition_counts_once(counters: UsageCounters) -> None:
    await counters.add("a", 1, once="1", ttl_s=60)
    assert await counters.add("a", 1, once="1", ttl_s=60) == 1


async def test_names_may_hold_anything(counters: UsageCounters) -> None:
    name = "person:web:{x}:ä :day"
    assert await counters.add(name, 2, once="{}", ttl_s=60) == 2
    assert list(await counters.read([name])) == [2]


async def test_a_sum_vanishes_after_its_time_from_the_first_addition() -> None:
    clock = FakeClock()
    counters = MemoryCounters(clock)
    await counters.add("a", 1, once="1", ttl_s=60)
    await clock.advance(59)
    await counters.add("a", 1, once="2", ttl_s=60)
    assert list(await counters.read(["a"])) == [2]
    await clock.advance(1)
    assert list(await counters.read(["a"])) == [0]


async def test_the_server_is_told_when_a_sum_vanishes(valkey_socket: object) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:  # type: ignore[arg-type]
        await RedisCounters(connection).add("a", 1, once="1", ttl_s=60)
        keys = ["{parley:count:a}", "{parley:count:a}:once:1"]
        assert [0 < await _seconds(connection, key) <= 60 for key in keys] == [True, True]
        await RedisCounters(connection).add("a", 1, once="2", ttl_s=6000)
        assert await _seconds(connection, keys[0]) <= 60


async def _seconds(connection: RedisConnection, key: str) -> int:
    async def call(client: object) -> int:
        return int(await client.ttl(key))  # type: ignore[attr-defined]

    return await connection.retrying(call, key)
