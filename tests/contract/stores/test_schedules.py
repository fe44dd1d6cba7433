"""Every store of schedules, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.redis import RedisSchedules, ScheduleStore
from runtime.core.errors import LeaseLost
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.stores.sessions import Lease, LeaseStore
from tests.contract.setups import SETUPS, location_of
from tests.contract.storage_samples import HERE, SHARD, event, shard_lease
from tests.fakes.memory.schedules import MemorySchedules

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Stand:
    schedules: ScheduleStore
    leases: LeaseStore
    lease: Lease

    async def add(self, name: str, due_s: float = 50.0, *, bound: int = 5) -> int | None:
        return await self.schedules.add(self.lease, replace(event(name), kind=SCHEDULE), due_s, bound=bound)

    async def due(self, until_s: float = 1000.0) -> list[tuple[int, str, float]]:
        return [(one.number, one.event.id, one.due_s) for one in await self.schedules.due(SHARD, until_s, 10)]


@pytest.fixture(params=["memory", *SETUPS])
async def stand(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Stand]:
    if request.param == "memory":
        leases = MemoryLeaseStore()
        yield Stand(MemorySchedules(leases), leases, await shard_lease(leases))
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        kept = RedisLeaseStore(connection)
        yield Stand(RedisSchedules(connection), kept, await shard_lease(kept))


async def test_a_schedule_is_kept_as_it_was_wanted_and_is_due_at_its_time(stand: Stand) -> None:
    assert await stand.schedules.first(SHARD) is None
    assert await stand.add("late", 70.25) == 1
    assert await stand.add("early", 50.5) == 2
    assert await stand.schedules.first(SHARD) == 50.5
    assert await stand.due(50.25) == []
    assert await stand.due() == [(2, "early", 50.5), (1, "late", 70.25)]
    assert [one.event for one in await stand.schedules.all(HERE)] == [
        replace(event(name), kind=SCHEDULE) for name in ("late", "early")
    ]


async def test_the_same_event_makes_one_schedule_and_more_than_the_bound_are_not_kept(stand: Stand) -> None:
    assert [await stand.add("a", bound=2), await stand.add("a", bound=2), await stand.add("b", bound=2)] == [1, 1, 2]
    assert await stand.add("c", bound=2) is None
    assert await stand.add("a", bound=2) == 1
    assert [one.number for one in await stand.schedules.all(HERE)] == [1, 2]


async def test_a_removed_schedule_is_never_due_and_its_number_is_not_given_again(stand: Stand) -> None:
    await stand.add("a")
    assert await stand.schedules.remove(stand.lease, HERE, 1)
    assert not await stand.schedules.remove(stand.lease, HERE, 1)
    assert await stand.due() == []
    assert await stand.add("b") == 2


async def test_a_time_that_was_dealt_with_is_followed_by_the_next_or_by_none(stand: Stand) -> None:
    await stand.add("again")
    await stand.add("once")
    again, once = await stand.schedules.due(SHARD, 50.0, 10)
    for _ in range(2):  # a crash repeats it
        await stand.schedules.passed(again, 90.0)
        await stand.schedules.passed(once, None)
    assert await stand.due() == [(1, "again", 90.0)]
    assert [one.number for one in await stand.schedules.all(HERE)] == [1]


async def test_a_schedule_that_was_removed_while_it_was_due_does_not_come_back(stand: Stand) -> None:
    await stand.add("a")
    (due,) = await stand.schedules.due(SHARD, 50.0, 10)
    await stand.schedules.remove(stand.lease, HERE, 1)
    await stand.schedules.passed(due, 90.0)
    assert await stand.schedules.first(SHARD) is None


async def test_another_zone_comes_with_other_times(stand: Stand) -> None:
    assert await stand.schedules.zone(HERE) == ""
    await stand.add("a")
    await stand.add("b")
    (due, _) = await stand.schedules.due(SHARD, 50.0, 10)
    await stand.schedules.set_zone(stand.lease, HERE, "Europe/Berlin", {1: 70.0, 3: 80.0})
    assert await stand.schedules.zone(HERE) == "Europe/Berlin"
    assert await stand.due() == [(2, "b", 50.0), (1, "a", 70.0)]
    await stand.schedules.passed(due, 90.0)
    assert await stand.due() == [(2, "b", 50.0), (1, "a", 70.0)]


async def test_who_has_lost_the_shard_changes_nothing(stand: Stand) -> None:
    await stand.add("a")
    await shard_lease(stand.leases)
    with pytest.raises(LeaseLost):
        await stand.add("b")
    with pytest.raises(LeaseLost):
        await stand.schedules.remove(stand.lease, HERE, 1)
    with pytest.raises(LeaseLost):
        await stand.schedules.set_zone(stand.lease, HERE, "UTC", {1: 70.0})
    assert await stand.due() == [(1, "a", 50.0)]
    assert await stand.schedules.zone(HERE) == ""
