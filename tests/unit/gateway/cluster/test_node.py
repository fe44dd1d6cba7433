"""A node and its leases."""

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

import anyio
import pytest

from gateway.cluster.bots import BotLeases
from gateway.cluster.node import ClusterNode
from gateway.cluster.renewal import LeaseRenewal
from gateway.cluster.roster import ClusterRoster, NodeDrains
from runtime.bus import Bus
from runtime.core.background import beside
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import InboxEntry
from runtime.stores.sessions import SHARDS, Lease, LeaseHolder, LeaseStore
from tests.contract.storage_samples import SHARD, event
from tests.fakes.clock import FakeClock, ForeignClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.renewing import renewing
from tests.fakes.servers.shard_server import IdleServer

TTL_S = 9.0


class Parts:
    """Nodes over the same stores, and what was handed to each."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stores_clock = ForeignClock(self.clock)
        self.leases = MemoryLeaseStore(self.stores_clock)
        self.inbox = MemoryInbox(self.leases)
        self.nodes = MemoryNodeStore(self.stores_clock)
        self.drains = NodeDrains(MemoryRecords())

    def roster(self, name: str) -> ClusterRoster:
        return ClusterRoster(self.nodes, LeaseHolder(name, TTL_S), self.clock)

    def node(self, name: str) -> ClusterNode:
        return ClusterNode(self.leases, self.inbox, self.roster(name), self.renewal(name), Bus(self.clock))

    def renewal(self, name: str, leases: LeaseStore | None = None) -> LeaseRenewal:
        return renewing(leases or self.leases, self.nodes, LeaseHolder(name, TTL_S), self.clock)

    async def hold(self, name: str, body: Callable[[], Awaitable[None]], roster: ClusterRoster | None = None) -> None:
        """Hold a bot on a node of this name for as long as the body takes."""
        renewal = self.renewal(name)
        async with beside() as tasks:
            tasks.start_soon(renewal.run)
            async with BotLeases(self.leases, roster or self.roster(name), renewal).hold("telegram"):
                await body()


class Handed(IdleServer):
    """What a node told, in order."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []
        self.leases: list[Lease] = []
        self.losses: list[int] = []
        self.came = anyio.Event()

    def dispatch(self, entry: InboxEntry, lease: Lease, /) -> Awaitable[None] | None:
        assert lease in self.leases
        assert lease.shard == entry.shard
        self.entries.append((entry.event.id, lease.token))
        self.came.set()
        self.came = anyio.Event()
        return None

    async def gained(self, lease: Lease, /) -> None:
        self.leases.append(lease)

    def lost(self, shard: int, /) -> None:
        self.losses.append(shard)

    async def wait_for(self, count: int) -> None:
        while len(self.entries) < count:
            await self.came.wait()


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
def handed() -> Handed:
    return Handed()


async def test_a_lone_node_holds_every_shard(parts: Parts, handed: Handed) -> None:
    node = parts.node("a")
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, handed)
        assert node.shards == frozenset(range(SHARDS))
        assert sorted(lease.shard for lease in handed.leases) == list(range(SHARDS))
        tasks.cancel_scope.cancel()


async def test_a_node_takes_nothing_of_one_that_lives_though_its_leases_have_run_out_by_the_stores_clock(
    handed: Handed,
) -> None:
    parts, ada = Parts(), LeaseHolder("ada", TTL_S)
    await parts.nodes.announce(ada)
    for shard in range(40):
        await parts.leases.acquire(f"shard:{shard}", ada)
    node = parts.node("bob")
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, handed)
        assert len(node.shards) == SHARDS - 40
        parts.stores_clock.ahead_s = 600.0
        await parts.clock.advance(TTL_S - 1)
        assert len(node.shards) == SHARDS - 40
        await parts.clock.advance(2)
        assert len(node.shards) == SHARDS
        tasks.cancel_scope.cancel()


async def test_entries_are_handed_over_once_and_in_order(parts: Parts, handed: Handed) -> None:
    await parts.inbox.add(event("before"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, handed)
        await handed.wait_for(1)
        for name in ("1", "2", "3"):
            await parts.inbox.add(event(name))
        await handed.wait_for(4)
        await parts.clock.advance(5 * TTL_S)
        tasks.cancel_scope.cancel()
    assert [name for name, _ in handed.entries] == ["before", "1", "2", "3"]
    assert handed.losses == []


async def test_the_next_entry_waits_for_a_slow_taker(parts: Parts) -> None:
    may_end, begun = anyio.Event(), list[str]()

    async def slow(entry: InboxEntry, _lease: Lease) -> None:
        begun.append(entry.event.id)
        await may_end.wait()

    await parts.inbox.add(event("1"))
    await parts.inbox.add(event("2"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, IdleServer(slow))
        await parts.clock.settle()
        assert begun == ["1"]
        may_end.set()
        await parts.clock.settle()
        assert begun == ["1", "2"]
        tasks.cancel_scope.cancel()


async def test_a_second_node_gets_its_half_at_once_and_all_when_the_first_ends(parts: Parts, handed: Handed) -> None:
    first, second = parts.node("a"), parts.node("b")
    async with anyio.create_task_group() as outer:
        async with anyio.create_task_group() as inner:
            await first.run(inner, handed)
            await second.run(outer, handed)
            await parts.clock.settle()
            assert len(first.shards) == len(second.shards) == SHARDS // 2
            assert first.shards.isdisjoint(second.shards)
            inner.cancel_scope.cancel()
        await parts.clock.settle()
        assert second.shards == frozenset(range(SHARDS))
        outer.cancel_scope.cancel()


async def test_a_shard_in_which_least_goes_on_is_given_away_first(parts: Parts) -> None:
    class Busy(IdleServer):
        parked: ClassVar[list[int]] = []

        def loads(self) -> Mapping[int, int]:
            return dict.fromkeys(range(0, SHARDS, 2), 1) | {1: 2}

        async def park(self, shard: int, within_s: float, /) -> None:
            assert within_s == 20.0
            self.parked.append(shard)

    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, Busy())
        await parts.node("b").run(tasks, IdleServer())
        await parts.clock.settle()
        assert sorted(Busy.parked) == sorted([*range(3, SHARDS, 2), 0])
        tasks.cancel_scope.cancel()


async def test_a_shard_is_given_back_when_it_is_parked_and_not_before(parts: Parts) -> None:
    may_end = anyio.Event()

    class Slow(IdleServer):
        async def park(self, shard: int, within_s: float, /) -> None:
            await may_end.wait()

    first, second = parts.node("a"), parts.node("b")
    async with anyio.create_task_group() as tasks:
        await first.run(tasks, Slow())
        await second.run(tasks, IdleServer())
        await parts.clock.advance(3 * TTL_S)
        assert (len(first.shards), len(second.shards)) == (SHARDS, 0)
        may_end.set()
        await parts.clock.settle()
        assert (len(first.shards), len(second.shards)) == (SHARDS // 2, SHARDS // 2)
        tasks.cancel_scope.cancel()


async def test_a_drained_node_gives_everything_back_and_takes_nothing_more(parts: Parts) -> None:
    first, second = parts.node("a"), parts.node("b")
    async with anyio.create_task_group() as tasks:
        await first.run(tasks, IdleServer())
        await second.run(tasks, IdleServer())
        await parts.clock.settle()
        await first.drain(1.0)
        await parts.clock.settle()
        assert (first.shards, second.shards) == (frozenset(), frozenset(range(SHARDS)))
        await parts.clock.advance(3 * TTL_S)
        assert (first.shards, second.shards) == (frozenset(), frozenset(range(SHARDS)))
        tasks.cancel_scope.cancel()


async def test_a_node_that_cannot_renew_its_leases_says_in_time_that_they_are_not_sure(parts: Parts) -> None:
    class Stuck(MemoryLeaseStore):
        stuck = False

        async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
            while self.stuck:
                await parts.clock.sleep_until(parts.clock.monotonic() + 0.5)
            return await super().renew(name, holder, token)

    leases, heard = Stuck(parts.clock), list[str]()
    bus = Bus(parts.clock)
    bus.subscribe("node.*", lambda event: heard.append(event.name))
    node = ClusterNode(leases, parts.inbox, parts.roster("a"), parts.renewal("a", leases), bus)
    node.on_sure = lambda: heard.append("sure")
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, IdleServer())
        await parts.clock.advance(5 * TTL_S)
        was_sure, leases.stuck = node.may_show(0), True
        await parts.clock.advance(0.8 * TTL_S)
        assert (node.may_show(0), leases.node("shard:0")) == (False, "a")
        leases.stuck = False
        await parts.clock.advance(TTL_S)
        assert (was_sure, node.may_show(0)) == (True, True)
        assert list(dict.fromkeys(heard)) == ["node.balanced", "node.isolated", "sure", "node.returned"]
        assert heard.count("sure") == SHARDS
        tasks.cancel_scope.cancel()


async def test_a_shard_that_was_taken_is_reported_and_nothing_more_comes_from_it(parts: Parts, handed: Handed) -> None:
    node = parts.node("a")
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, handed)
        token = next(lease.token for lease in handed.leases if lease.shard == SHARD)
        await parts.leases.release(f"shard:{SHARD}", LeaseHolder("a", TTL_S), token)
        assert await parts.leases.acquire(f"shard:{SHARD}", LeaseHolder("thief", 1000)) is not None
        await parts.clock.advance(TTL_S)
        assert handed.losses == [SHARD]
        assert node.shards == frozenset(range(SHARDS)) - {SHARD}
        await parts.inbox.add(event("1"))
        await parts.clock.advance(TTL_S)
        assert handed.entries == []
        tasks.cancel_scope.cancel()


async def test_a_shard_that_comes_back_is_read_from_its_start_under_the_new_token(parts: Parts, handed: Handed) -> None:
    thief = LeaseHolder("thief", TTL_S / 2)
    await parts.inbox.add(event("1"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, handed)
        await handed.wait_for(1)
        (_, token) = handed.entries[0]
        await parts.leases.release(f"shard:{SHARD}", LeaseHolder("a", TTL_S), token)
        assert await parts.leases.acquire(f"shard:{SHARD}", thief) == token + 1
        await parts.clock.advance(2 * TTL_S)
        assert handed.entries == [("1", token), ("1", token + 2)]
        tasks.cancel_scope.cancel()


async def test_a_bots_lease_is_waited_for_and_kept(parts: Parts) -> None:
    log: list[str] = []
    may_end = anyio.Event()

    async def hold(name: str) -> None:
        async def body() -> None:
            log.append(f"{name} holds")
            if name == "a":
                await may_end.wait()

        await parts.hold(name, body)
        log.append(f"{name} ended")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, "a")
        await parts.clock.settle()
        tasks.start_soon(hold, "b")
        await parts.clock.advance(5 * TTL_S)
        assert log == ["a holds"]
        may_end.set()
        await parts.clock.advance(TTL_S)
    assert log == ["a holds", "a ended", "b holds", "b ended"]


async def test_the_body_is_cancelled_when_a_bots_lease_is_lost(parts: Parts) -> None:
    log: list[str] = []

    async def body() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    async def hold() -> None:
        await parts.hold("a", body)
        log.append("after the block")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await parts.clock.settle()
        await parts.leases.release("bot:telegram", LeaseHolder("a", TTL_S), 1)
        assert await parts.leases.acquire("bot:telegram", LeaseHolder("thief", 1000)) is not None
        await parts.clock.advance(TTL_S)
    assert log == ["cancelled", "after the block"]


async def test_an_error_under_a_bots_lease_comes_out_as_it_is_and_frees_the_bot(parts: Parts) -> None:
    async def body() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await parts.hold("a", body)
    assert await parts.leases.acquire("bot:telegram", LeaseHolder("b", TTL_S)) is not None


async def test_a_bots_connection_is_given_up_before_another_node_may_have_it(parts: Parts) -> None:
    class Stuck(MemoryLeaseStore):
        async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
            await anyio.sleep_forever()
            return True

    leases, log = Stuck(parts.clock), list[str]()
    parts.leases = leases

    async def body() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append(f"cancelled; held by {leases.node('bot:telegram')}")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(parts.hold, "a", body)
        await parts.clock.advance(TTL_S)
        tasks.cancel_scope.cancel()
    assert log == ["cancelled; held by a"]


async def test_a_bots_lease_goes_to_the_next_node_as_soon_as_it_is_given_back(parts: Parts) -> None:
    log: list[str] = []
    may_end = anyio.Event()

    async def hold(name: str, roster: ClusterRoster) -> None:
        async def body() -> None:
            log.append(name)
            await may_end.wait()

        await parts.hold(name, body, roster)

    async with anyio.create_task_group() as tasks:
        for name in ("a", "b"):
            roster = parts.roster(name)
            await roster.open()
            tasks.start_soon(roster.run)
            tasks.start_soon(hold, name, roster)
            await parts.clock.settle()
        assert log == ["a"]
        may_end.set()
        await parts.clock.settle()
        assert log == ["a", "b"]
        tasks.cancel_scope.cancel()


async def test_a_drained_nodes_bot_goes_to_another_and_it_takes_none(parts: Parts) -> None:
    log: list[str] = []

    async def hold(name: str, roster: ClusterRoster) -> None:
        async def body() -> None:
            log.append(name)
            await anyio.sleep_forever()

        while True:
            await parts.hold(name, body, roster)

    async with anyio.create_task_group() as tasks:
        for name in ("a", "b"):
            roster = ClusterRoster(parts.nodes, LeaseHolder(name, TTL_S), parts.clock, drains=parts.drains)
            await roster.open()
            tasks.start_soon(roster.run)
            tasks.start_soon(hold, name, roster)
            await parts.clock.settle()
        assert log == ["a"]
        await parts.drains.mark("a", "Olga")
        await parts.nodes.tell()
        await parts.clock.settle()
        assert log == ["a", "b"]
        tasks.cancel_scope.cancel()
