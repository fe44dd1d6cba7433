"""Every store of the runs of schedules, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from gateway.features.schedules.redis import MAX_RUNS, RedisRuns, RunStore, ScheduleRun
from runtime.storage.redis.client.connection import open_connection
from tests.contract.setups import SETUPS, location_of
from tests.fakes.memory.schedule_runs import MemoryRuns

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *SETUPS])
async def runs(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[RunStore]:
    if request.param == "memory":
        yield MemoryRuns()
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield RedisRuns(connection)


def run(number: int) -> ScheduleRun:
    return ScheduleRun(f"schedule:a.{number}", float(number), "waiting", float(number))


async def test_a_run_is_kept_as_it_began_and_as_it_ended(runs: RunStore) -> None:
    assert await runs.begin("schedule:a", run(2)) == run(2)
    assert await runs.begin("schedule:a", run(1)) == run(1)
    over = replace(run(2), status="failed", ended_s=7.5, why="ValueError", session="s", seq=9)
    await runs.put("schedule:a", over)
    assert await runs.begin("schedule:a", run(2)) == over
    assert await runs.of("schedule:a") == [run(1), over]
    assert await runs.of("schedule:b") == []


async def test_the_oldest_runs_are_forgotten(runs: RunStore) -> None:
    for number in range(MAX_RUNS + 3):
        await runs.begin("schedule:a", run(number))
    assert [kept.due_s for kept in await runs.of("schedule:a")] == [float(n) for n in range(3, MAX_RUNS + 3)]


async def test_a_schedule_is_paused_until_it_is_not(runs: RunStore) -> None:
    assert not await runs.is_paused("schedule:a")
    await runs.pause("schedule:a", paused=True)
    assert await runs.is_paused("schedule:a")
    assert not await runs.is_paused("schedule:b")
    await runs.pause("schedule:a", paused=False)
    assert not await runs.is_paused("schedule:a")
