"""A node's part of shared limits, from its first claim to its end."""

from functools import partial

import anyio
import pytest

from adapters.capabilities import Budget
from gateway.cluster.bots import PlatformSchedulers, ShardShares
from gateway.cluster.roster import ClusterRoster
from runtime.core.errors import RateLimited
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.memory.shares import MemoryShareStore
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import BucketPlatform

ADA, BOB = LeaseHolder("ada", ttl_s=9.0), LeaseHolder("bob", ttl_s=9.0)

ROOM = Budget(1.0, 3)


class StuckStore(MemoryShareStore):
    """Answers nothing while `stuck`."""

    stuck = False

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        while self.stuck:
            await self._clock.sleep_until(self._clock.monotonic() + 1.0)
        return await super().claim(holder, in_use, weight=weight)


def shares_of(store: MemoryShareStore, holder: LeaseHolder, clock: FakeClock) -> ShardShares:
    """The shares of a node that hears nothing of the others."""
    return ShardShares(store, holder, clock, ClusterRoster(MemoryNodeStore(clock), holder, clock))


async def test_two_nodes_come_to_a_half_each_and_the_one_that_stays_gets_the_whole_again() -> None:
    clock = FakeClock()
    store = MemoryShareStore(clock)
    told: dict[str, list[float]] = {"ada": [], "bob": []}
    async with anyio.create_task_group() as tasks:
        ada, bob = shares_of(store, ADA, clock), shares_of(store, BOB, clock)
        await ada.open()
        ada.tell(told["ada"].append)
        tasks.start_soon(ada.run)
        await bob.open()
        bob.tell(told["bob"].append)
        async with anyio.create_task_group() as short_lived:
            short_lived.start_soon(bob.run)
            await clock.advance(12)
            assert (told["ada"], told["bob"]) == ([1.0, 0.5], [0.0, 0.5])
            short_lived.cancel_scope.cancel()
        await clock.advance(3)
        assert told["ada"] == [1.0, 0.5, 1.0]
        tasks.cancel_scope.cancel()


async def test_a_part_that_cannot_be_claimed_again_is_given_up_before_another_node_may_have_it() -> None:
    clock = FakeClock()
    store = StuckStore(clock)
    told: list[float] = []
    async with anyio.create_task_group() as tasks:
        shares = shares_of(store, ADA, clock)
        await shares.open()
        shares.tell(told.append)
        tasks.start_soon(shares.run)
        await clock.advance(4)
        store.stuck = True
        await clock.advance(7)
        assert told == [1.0]
        await clock.advance(3)
        assert told == [1.0, 0.0]
        store.stuck = False
        await clock.advance(4)
        assert told == [1.0, 0.0, 1.0]
        tasks.cancel_scope.cancel()


async def test_a_newcomer_has_its_part_as_soon_as_the_roster_knows_of_it() -> None:
    clock = FakeClock()
    store, nodes = MemoryShareStore(clock), MemoryNodeStore(clock)
    parts: dict[str, list[float]] = {"ada": [], "bob": []}
    async with anyio.create_task_group() as tasks:
        for holder in (ADA, BOB):
            roster = ClusterRoster(nodes, holder, clock)
            shares = ShardShares(store, holder, clock, roster)
            await shares.open()
            shares.tell(parts[holder.node].append)
            tasks.start_soon(shares.run)
            await roster.open()
            tasks.start_soon(roster.run)
            await clock.settle()
        assert parts == {"ada": [1.0, 0.5], "bob": [0.0, 0.5]}
        assert clock.monotonic() == 0
        tasks.cancel_scope.cancel()


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
            shares = shares_of(MemoryShareStore(clock), LeaseHolder("node"), clock)
            await shares.open()
            schedulers = PlatformSchedulers(tables.__getitem__, shares, clock, tasks)
            scheduler = await schedulers.open(BucketPlatform(clock))
            tasks.start_soon(scheduler.make, "room", ROOM, refused_at_first)
            await clock.advance(60)
            tasks.cancel_scope.cancel()
    assert calls == pytest.approx([0.0], abs=0.01)
    async with anyio.create_task_group() as tasks:
        shares = shares_of(MemoryShareStore(clock), LeaseHolder("node"), clock)
        await shares.open()
        scheduler = await PlatformSchedulers(tables.__getitem__, shares, clock, tasks).open(BucketPlatform(clock))
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
        shares = shares_of(store, LeaseHolder("node", ttl_s=9.0), clock)
        await shares.open()
        tasks.start_soon(shares.run)
        scheduler = await PlatformSchedulers(lambda _table: MemoryRecords(), shares, clock, tasks).open(
            BucketPlatform(clock)
        )
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
        shares = shares_of(MemoryShareStore(clock), LeaseHolder("node"), clock)
        await shares.open()
        schedulers = PlatformSchedulers(lambda _table: MemoryRecords(), shares, clock, tasks)
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
