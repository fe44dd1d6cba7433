"""Renewing leases beside the gateway's loop, and who lives, as a node sees it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from gateway.cluster.renewal import in_thread
from gateway.cluster.roster import ClusterRoster, NodeDrains
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.sessions import SHARDS, LeaseHolder, LivingNodes
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.renewing import renewing

ADA = LeaseHolder("ada", ttl_s=9.0)


@dataclass
class Slow:
    """Calls that stand still until they may go on."""

    entered: int = 0
    gate: anyio.Event = field(default_factory=anyio.Event)

    async def pass_by(self) -> None:
        self.entered += 1
        await self.gate.wait()


class SlowLeases(MemoryLeaseStore):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.slow = Slow()

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        await self.slow.pass_by()
        return await super().renew(name, holder, token)

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        if await super().renew(name, holder, token):
            self._leases[name].expires_s = 0.0


class SlowNodes(MemoryNodeStore):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.slow = Slow()

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        await self.slow.pass_by()
        return await super().announce(holder)


async def test_a_lease_that_is_given_back_while_it_is_renewed_stays_given_back() -> None:
    clock = FakeClock()
    leases = SlowLeases(clock)
    renewal = renewing(leases, MemoryNodeStore(clock), ADA, clock)

    async def give_back(token: int) -> None:
        await renewal.drop("shard:1")
        await leases.release("shard:1", ADA, token)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        token = await leases.acquire("shard:1", ADA)
        assert token is not None
        renewal.keep("shard:1", token, renewal.surely_until(), lambda _: None)
        await clock.advance(ADA.ttl_s / 3)
        assert leases.slow.entered == 1
        tasks.start_soon(give_back, token)
        await clock.settle()
        leases.slow.gate.set()
        await clock.advance(ADA.ttl_s / 3)
        assert (leases.node("shard:1"), leases.slow.entered) == (None, 1)
        tasks.cancel_scope.cancel()


async def test_a_node_that_has_fallen_silent_is_not_announced_again() -> None:
    clock = FakeClock()
    nodes = SlowNodes(clock)
    renewal = renewing(MemoryLeaseStore(clock), nodes, ADA, clock)

    async def leave() -> None:
        await renewal.fall_silent()
        await nodes.leave(ADA)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        await clock.advance(ADA.ttl_s / 3)
        assert nodes.slow.entered == 1
        tasks.start_soon(leave)
        await clock.settle()
        nodes.slow.gate.set()
        await clock.advance(ADA.ttl_s / 3)
        assert (list((await nodes.living()).nodes), nodes.slow.entered) == ([], 1)
        tasks.cancel_scope.cancel()


async def test_a_node_is_announced_after_its_leases_so_that_none_outlives_it() -> None:
    clock = FakeClock()
    leases, nodes = SlowLeases(clock), SlowNodes(clock)
    renewal = renewing(leases, nodes, ADA, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        renewal.keep("shard:1", await leases.acquire("shard:1", ADA) or 0, renewal.surely_until(), lambda _: None)
        await clock.advance(ADA.ttl_s / 3)
        assert (leases.slow.entered, nodes.slow.entered) == (1, 0)
        leases.slow.gate.set()
        await clock.settle()
        assert nodes.slow.entered == 1
        tasks.cancel_scope.cancel()


async def test_who_is_told_that_a_lease_is_lost_may_start_work() -> None:
    clock = FakeClock()
    leases, told = MemoryLeaseStore(clock), list[anyio.CancelScope]()
    renewal = renewing(leases, MemoryNodeStore(clock), ADA, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        renewal.keep("shard:1", 1, renewal.surely_until(), lambda _: told.append(anyio.CancelScope()))
        await clock.advance(ADA.ttl_s / 3)
        assert len(told) == 1
        tasks.cancel_scope.cancel()


async def test_work_in_a_thread_has_ended_when_who_asked_for_it_is_cancelled() -> None:
    begun, ended = anyio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def work() -> None:
        here.call_soon_threadsafe(begun.set)
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_thread, work)
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert ended.is_set()


async def test_an_error_of_work_in_a_thread_is_raised_where_it_was_asked_for() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_thread(work)


TTL_S = 9.0
DRAINS = NodeDrains(MemoryRecords())


class Away(MemoryNodeStore):
    """Answers nothing while `away`, takes nothing while it is `full`."""

    away = False
    full = False

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        await self._back()
        while self.full:
            await self._clock.sleep_until(self._clock.monotonic() + 0.5)
        return await super().announce(holder)

    async def living(self) -> LivingNodes:
        await self._back()
        return await super().living()

    async def _back(self) -> None:
        while self.away:
            await self._clock.sleep_until(self._clock.monotonic() + 0.5)


@asynccontextmanager
async def rosters(*names: str) -> AsyncIterator[tuple[FakeClock, Away, list[ClusterRoster]]]:
    """Nodes that announce themselves as often as they renew their leases."""
    clock = FakeClock()
    store = Away(clock)
    made = [ClusterRoster(store, LeaseHolder(name, TTL_S), clock, drains=DRAINS) for name in names]

    async def live(roster: ClusterRoster) -> None:
        while True:
            await clock.sleep_until(clock.monotonic() + TTL_S / 3)
            roster.announce()

    async with anyio.create_task_group() as tasks:
        for roster in made:
            await roster.open()
            tasks.start_soon(roster.run)
            tasks.start_soon(live, roster)
        await clock.settle()
        yield clock, store, made
        tasks.cancel_scope.cancel()


async def test_quotas_are_even_and_sum_to_all_shards() -> None:
    async with rosters(*"abcde") as (_, _, made):
        assert [roster.quota for roster in made] == [13, 13, 13, 13, 12]
        assert sum(roster.quota for roster in made) == SHARDS


async def test_nobody_is_taken_for_dead_because_the_store_was_away() -> None:
    async with rosters("a", "b", "c") as (clock, store, made):
        store.away = True
        await clock.advance(2 * TTL_S)
        store.away = False
        for _ in range(20):
            await clock.advance(0.5)
            assert [roster.nodes for roster in made] == [3, 3, 3]


async def test_nobody_is_taken_for_dead_because_the_store_answered_questions_and_took_no_word() -> None:
    async with rosters("a", "b", "c") as (clock, store, made):
        store.full = True
        for _ in range(4):
            await clock.advance(TTL_S / 2)
            await store.tell()
        assert [roster.nodes for roster in made] == [3, 3, 3]
        store.full = False
        for _ in range(20):
            await clock.advance(0.5)
            assert [roster.nodes for roster in made] == [3, 3, 3]


async def test_who_died_while_the_store_was_away_is_missed_soon_after() -> None:
    async with rosters("a") as (clock, store, (ada,)):
        await store.announce(LeaseHolder("b", TTL_S))
        await clock.settle()
        assert ada.nodes == 2
        store.away = True
        await clock.advance(2 * TTL_S)
        store.away = False
        await clock.advance(1)
        assert ada.nodes == 2
        await clock.advance(TTL_S / 3)
        assert ada.nodes == 1


async def test_who_has_left_has_no_quota_and_the_others_have_all_at_once() -> None:
    async with rosters("a", "b") as (clock, _, (ada, bob)):
        assert await ada.leave()
        await clock.settle()
        assert (ada.quota, bob.quota) == (0, SHARDS)


async def test_a_front_sees_the_nodes_and_takes_no_part_of_the_shards() -> None:
    async with rosters("a", "b") as (clock, store, (ada, _)):
        front = ClusterRoster(store, LeaseHolder("front", TTL_S), clock, enters=False)
        await front.open()
        assert (front.nodes, front.quota) == (2, 0)
        await clock.advance(TTL_S)
        assert (ada.nodes, ada.quota) == (2, SHARDS / 2)


async def test_a_front_notices_when_the_last_node_dies_and_when_another_comes() -> None:
    clock = FakeClock()
    store = MemoryNodeStore(clock)
    front = ClusterRoster(store, LeaseHolder("front", TTL_S), clock, enters=False)
    async with anyio.create_task_group() as tasks:
        await store.announce(LeaseHolder("a", TTL_S))
        await front.open()
        tasks.start_soon(front.run)
        await clock.settle()
        assert front.nodes == 1
        await clock.advance(TTL_S + 1)
        assert front.nodes == 0
        await store.announce(LeaseHolder("b", TTL_S))
        await clock.settle()
        assert front.nodes == 1
        tasks.cancel_scope.cancel()


async def test_a_node_that_is_to_be_empty_has_no_quota_until_it_is_to_serve_again() -> None:
    async with rosters("a", "b", "c") as (clock, store, made):
        await DRAINS.mark("b", "Olga")
        await store.tell()
        await clock.settle()
        assert [roster.quota for roster in made] == [32, 0, 32]
        assert [roster.drained for roster in made] == [False, True, False]
        await DRAINS.forget("b")
        await store.tell()
        await clock.settle()
        assert [roster.quota for roster in made] == [22, 21, 21]


async def test_the_last_node_serves_whatever_was_wanted_and_one_that_begins_anew_does_too() -> None:
    async with rosters("a", "b") as (clock, store, made):
        await DRAINS.mark("a", "Olga")
        await DRAINS.mark("b", "Olaf")
        await store.tell()
        await clock.settle()
        assert [roster.quota for roster in made] == [32, 32]
        await made[1].open()
        await store.tell()
        await clock.settle()
        assert [roster.quota for roster in made] == [0, 64]
