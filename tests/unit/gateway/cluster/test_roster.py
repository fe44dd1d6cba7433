"""Who lives, as a node sees it while the store comes and goes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from gateway.cluster.roster import ClusterRoster, NodeDrains
from runtime.stores.sessions import SHARDS, LeaseHolder, LivingNodes
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

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
