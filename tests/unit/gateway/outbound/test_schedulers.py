"""Schedulers as the gateway makes them: with what outlives the process, and with this node's share."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from adapters.capabilities import Budget
from gateway.cluster.bots import Schedulers, Shares
from runtime.core.errors import RateLimited
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.memory.shares import MemoryShareStore
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import BucketPlatform

pytestmark = pytest.mark.anyio

ROOM = Budget(1.0, 3)


async def test_a_restart_in_a_flood_wait_makes_no_call_before_its_end() -> None:
    clock = FakeClock()
    tables = {"rates:fake": MemoryRecords()}
    calls: list[float] = []

    async def refused_at_first() -> None:
        calls.append(clock.monotonic())
        if len(calls) == 1:
            raise RateLimited("wait", retry_after_s=120.0)

    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            shares = Shares(MemoryShareStore(clock), LeaseHolder("node"), clock)
            await shares.open()
            schedulers = Schedulers(tables.__getitem__, shares, clock, tasks)
            scheduler = await schedulers.open(BucketPlatform(clock))
            tasks.start_soon(scheduler.make, "room", ROOM, refused_at_first)
            await clock.advance(60)
            tasks.cancel_scope.cancel()
    assert calls == pytest.approx([0.0], abs=0.01)
    async with anyio.create_task_group() as tasks:
        shares = Shares(MemoryShareStore(clock), LeaseHolder("node"), clock)
        await shares.open()
        scheduler = await Schedulers(tables.__getitem__, shares, clock, tasks).open(BucketPlatform(clock))
        tasks.start_soon(scheduler.make, "room", ROOM, refused_at_first)
        await clock.advance(60)
        tasks.cancel_scope.cancel()
    assert len(calls) == 2
    assert calls[1] == pytest.approx(120.1, abs=0.1)


async def test_a_node_without_a_share_of_the_bots_bucket_waits() -> None:
    clock = FakeClock()
    store = MemoryShareStore(clock)
    await store.claim(LeaseHolder("other", ttl_s=30.0), 0.0)
    made: list[float] = []

    async def call() -> None:
        made.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        shares = Shares(store, LeaseHolder("node", ttl_s=9.0), clock)
        await shares.open()
        tasks.start_soon(shares.run)
        scheduler = await Schedulers(lambda _table: MemoryRecords(), shares, clock, tasks).open(BucketPlatform(clock))
        tasks.start_soon(scheduler.make, "room", ROOM, call)
        await clock.advance(29)
        assert made == []
        await clock.advance(5)
        assert len(made) == 1
        tasks.cancel_scope.cancel()


async def test_a_stop_waits_for_calls_on_their_way_and_lets_no_other_leave() -> None:
    clock = FakeClock()
    made: list[str] = []
    ended: list[str] = []

    async def call(name: str) -> None:
        made.append(name)
        await clock.sleep_until(clock.monotonic() + 2.0)
        ended.append(name)

    async with anyio.create_task_group() as tasks:
        shares = Shares(MemoryShareStore(clock), LeaseHolder("node"), clock)
        await shares.open()
        schedulers = Schedulers(lambda _table: MemoryRecords(), shares, clock, tasks)
        scheduler = await schedulers.open(BucketPlatform(clock))
        await clock.advance(10)
        tasks.start_soon(scheduler.make, "room", ROOM, partial(call, "first"))
        await clock.advance(1)
        drained = anyio.Event()

        async def drain() -> None:
            await schedulers.drain()
            drained.set()

        tasks.start_soon(drain)
        await clock.settle()
        tasks.start_soon(scheduler.make, "room", ROOM, partial(call, "second"))
        assert not await scheduler.spare("elsewhere", ROOM, partial(call, "third"))
        await clock.advance(0.5)
        assert (made, ended, drained.is_set()) == (["first"], [], False)
        await clock.advance(30)
        assert (made, ended, drained.is_set()) == (["first"], ["first"], True)
        tasks.cancel_scope.cancel()
