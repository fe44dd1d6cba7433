"""Nodes that come, leave and die at random: all shards are served, evenly, and nothing moves without need."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.abc import TaskGroup

from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster, NodeDrains
from runtime.bus import Bus
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.sessions import SHARDS, Lease, LeaseHolder, LivingNodes
from tests.fakes.clock import FakeClock, ForeignClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.renewing import renewing
from tests.fakes.servers.shard_server import IdleServer

TTL_S = 9.0
STEP_S = 0.5
NOTICED_S = 0.1
"""How much later than a node's death, with its time run out, it may be noticed."""

PARK_S = 2.0
"""How long the busiest shard keeps others waiting."""

MOST_NODES = 7
EVENTS = 12


class Mortal:
    """The stores as one node sees them: once it is dead it changes nothing any more."""

    def __init__(self, world: World) -> None:
        self.dead = False
        self._world = world

    async def acquire(self, name: str, holder: LeaseHolder, /, *, living: Collection[str] = ()) -> int | None:
        return None if self.dead else await self._world.leases.acquire(name, holder, living=living)

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        return self.dead or await self._world.leases.renew(name, holder, token)

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        if not self.dead:
            await self._world.leases.release(name, holder, token)

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        return LivingNodes({}, "") if self.dead else await self._world.nodes.announce(holder)

    async def living(self) -> LivingNodes:
        return await self._world.nodes.living()

    async def leave(self, holder: LeaseHolder, /) -> None:
        if not self.dead:
            await self._world.nodes.leave(holder)

    async def tell(self) -> None:
        if not self.dead:
            await self._world.nodes.tell()

    async def news(self, after: str, /, *, wait_s: float) -> str:
        return await self._world.nodes.news(after, wait_s=wait_s)


class Served(IdleServer):
    """Some shards are busy: they are given back after a while."""

    def __init__(self, world: World, busy: frozenset[int]) -> None:
        super().__init__()
        self._world = world
        self._busy = busy

    async def gained(self, lease: Lease, /) -> None:
        self._world.moves += 1

    def loads(self) -> Mapping[int, int]:
        return Counter(self._busy)

    async def park(self, shard: int, within_s: float, /) -> None:
        if shard in self._busy:
            now = self._world.clock.monotonic()
            await self._world.clock.sleep_until(now + min(within_s, PARK_S))


@dataclass
class World:
    """Nodes over the same stores. `unowned_s` is the longest time for which a shard was nobody's, so far."""

    random: random.Random
    clock: FakeClock = field(default_factory=FakeClock)
    living: dict[str, tuple[ClusterNode, Mortal, anyio.CancelScope]] = field(default_factory=dict)
    moves: int = 0
    unowned_s: float = 0.0

    def __post_init__(self) -> None:
        self.stores_clock = ForeignClock(self.clock)
        self.leases = MemoryLeaseStore(self.stores_clock)
        self.nodes = MemoryNodeStore(self.stores_clock)
        self.drains = NodeDrains(MemoryRecords())
        self._free_since: dict[int, float] = {}

    async def join(self, tasks: TaskGroup) -> None:
        name = f"{self.random.randrange(1000):03d}"
        if name not in self.living:
            await tasks.start(self._live, name)

    async def _live(self, name: str, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        stores = Mortal(self)
        holder = LeaseHolder(name, TTL_S)
        roster = ClusterRoster(stores, holder, self.clock, drains=self.drains)
        renewal = renewing(stores, stores, holder, self.clock)
        node = ClusterNode(stores, MemoryInbox(self.leases), roster, renewal, Bus(self.clock), park_s=PARK_S)
        busy = frozenset(self.random.sample(range(SHARDS), 8))
        async with anyio.create_task_group() as tasks:
            self.living[name] = (node, stores, tasks.cancel_scope)
            await node.run(tasks, Served(self, busy))
            task_status.started()

    async def die(self) -> None:
        _, stores, scope = self.living.pop(self._any())
        stores.dead = True
        scope.cancel()

    async def leave(self, tasks: TaskGroup) -> None:
        node, _, scope = self.living.pop(self._any())

        async def drained() -> None:
            await node.drain(PARK_S)
            scope.cancel()

        tasks.start_soon(drained)

    async def drain(self) -> str:
        """Have one node be empty; its name."""
        name = self._any()
        await self.drains.mark(name, "Olga")
        await self.nodes.tell()
        return name

    def _any(self) -> str:
        return self.random.choice(sorted(self.living))

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, and look often."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            await self.clock.advance(STEP_S)
            now = self.clock.monotonic()
            for shard in range(SHARDS):
                if self.leases.node(f"shard:{shard}") is None:
                    since = self._free_since.setdefault(shard, now)
                    self.unowned_s = max(self.unowned_s, now - since)
                else:
                    self._free_since.pop(shard, None)

    def check_that_one_node_shows(self) -> None:
        """Nobody else shows anything of a shard while a node believes that it may."""
        for shard in range(SHARDS):
            showing = [name for name, (node, _, _) in self.living.items() if node.may_show(shard)]
            assert len(showing) <= 1, (shard, showing)

    def check_balance(self, *, empty: str = "") -> None:
        """Every shard is served by one node that lives, and the nodes have equally many, but for one that is empty."""
        held = {name: node.shards for name, (node, _, _) in self.living.items()}
        assert not held.pop(empty, ())
        assert sorted(shard for shards in held.values() for shard in shards) == list(range(SHARDS))
        sizes = [len(shards) for shards in held.values()]
        assert max(sizes) - min(sizes) <= 1, sizes
        for name, shards in held.items():
            assert {self.leases.node(f"shard:{shard}") for shard in shards} == {name}


@asynccontextmanager
async def world_of(seed: int) -> AsyncIterator[tuple[World, TaskGroup]]:
    world = World(random.Random(seed))
    async with anyio.create_task_group() as tasks:
        await world.join(tasks)
        yield world, tasks
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("seed", range(20))
async def test_the_nodes_that_live_share_all_shards_evenly_soon_after_others_come_leave_and_die(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(EVENTS):
            what = world.random.choice(("join", "join", "leave", "die", "nothing"))
            if what == "join" and len(world.living) < MOST_NODES:
                await world.join(tasks)
            elif what in ("leave", "die") and len(world.living) > 1:
                await (world.die() if what == "die" else world.leave(tasks))
            await world.pass_by(world.random.choice((0.0, STEP_S, 2.0, TTL_S)))
        await world.pass_by(TTL_S + PARK_S + STEP_S)
        world.check_balance()
    assert world.unowned_s <= TTL_S + NOTICED_S + STEP_S


@pytest.mark.parametrize("seed", range(10))
async def test_what_a_node_held_that_died_is_served_again_as_soon_as_its_leases_have_run_out(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(3):
            await world.join(tasks)
            await world.pass_by(world.random.uniform(0, TTL_S))
        await world.pass_by(PARK_S + STEP_S)
        await world.die()
        await world.pass_by(TTL_S + 2 * STEP_S)
        world.check_balance()
    assert world.unowned_s <= NOTICED_S + STEP_S


@pytest.mark.parametrize("seed", range(6))
async def test_a_drained_node_is_empty_and_stays_so_while_others_come_and_die(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(3):
            await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        name = await world.drain()
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance(empty=name)
        await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance(empty=name)
        for other in sorted(world.living.keys() - {name})[1:]:
            world.living[other][1].dead = True
            world.living.pop(other)[2].cancel()
        await world.pass_by(TTL_S + PARK_S + STEP_S)
        world.check_balance(empty=name)
        await world.drains.forget(name)
        await world.nodes.tell()
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance()


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_moves_while_nobody_comes_or_goes(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(4):
            await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance()
        before = world.moves
        await world.pass_by(20 * TTL_S)
        assert world.moves == before


async def test_a_newcomer_moves_no_more_shards_than_its_own() -> None:
    async with world_of(0) as (world, tasks):
        for _ in range(3):
            await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        before = world.moves
        await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance()
        assert world.moves - before <= SHARDS // 5 + 1


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_moves_and_one_node_shows_though_the_stores_clock_is_put_forward(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(2):
            await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        world.check_balance()
        before = world.moves
        for _ in range(6):
            world.stores_clock.ahead_s += world.random.choice((2.0, TTL_S, 600.0))
            for _ in range(round(TTL_S / STEP_S)):
                await world.pass_by(world.random.choice((0.0, STEP_S)))
                world.check_that_one_node_shows()
        assert world.moves == before
        world.check_balance()


@pytest.mark.parametrize("seed", range(3))
async def test_who_gets_a_dead_nodes_shards_takes_none_of_another_though_the_clock_is_put_forward(seed: int) -> None:
    async with world_of(seed) as (world, tasks):
        for _ in range(3):
            await world.join(tasks)
        await world.pass_by(PARK_S + STEP_S)
        await world.die()
        for _ in range(round(2 * TTL_S / STEP_S)):
            world.stores_clock.ahead_s += world.random.choice((0.0, 0.0, TTL_S))
            await world.pass_by(STEP_S)
            world.check_that_one_node_shows()
        await world.pass_by(TTL_S / 3)
        world.check_balance()
