"""A node and its leases."""

from __future__ import annotations

import anyio
import pytest

from gateway.node import Node
from runtime.sessions.inbox import InboxEntry
from runtime.sessions.store import SHARDS, Lease, LeaseHolder
from runtime.storage.memory import MemoryInbox, MemoryLeaseStore
from tests.contract.storage_samples import SHARD, event
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio

TTL_S = 9.0


class Parts:
    """Nodes over the same stores, and what was handed to each."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.leases = MemoryLeaseStore(self.clock)
        self.inbox = MemoryInbox(self.leases)

    def node(self, name: str) -> Node:
        return Node(self.leases, self.inbox, LeaseHolder(name, TTL_S), self.clock)


class Handed:
    """What a node told, in order."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []
        self.gained: list[Lease] = []
        self.lost: list[int] = []
        self.came = anyio.Event()

    def entry(self, entry: InboxEntry, lease: Lease) -> None:
        assert lease in self.gained
        assert lease.shard == entry.shard
        self.entries.append((entry.event.id, lease.token))
        self.came.set()
        self.came = anyio.Event()

    async def shard_gained(self, lease: Lease) -> None:
        self.gained.append(lease)

    def shard_lost(self, shard: int) -> None:
        self.lost.append(shard)

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
        await node.run(tasks, handed.entry, handed.shard_gained, handed.shard_lost)
        assert node.shards == frozenset(range(SHARDS))
        assert sorted(lease.shard for lease in handed.gained) == list(range(SHARDS))
        tasks.cancel_scope.cancel()


async def test_entries_are_handed_over_once_and_in_order(parts: Parts, handed: Handed) -> None:
    await parts.inbox.add(event("before"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, handed.entry, handed.shard_gained, handed.shard_lost)
        await handed.wait_for(1)
        for name in ("1", "2", "3"):
            await parts.inbox.add(event(name))
        await handed.wait_for(4)
        await parts.clock.advance(5 * TTL_S)
        tasks.cancel_scope.cancel()
    assert [name for name, _ in handed.entries] == ["before", "1", "2", "3"]
    assert handed.lost == []


async def test_the_next_entry_waits_for_a_slow_taker(parts: Parts, handed: Handed) -> None:
    may_end, begun = anyio.Event(), list[str]()

    async def slow(entry: InboxEntry, _lease: Lease) -> None:
        begun.append(entry.event.id)
        await may_end.wait()

    await parts.inbox.add(event("1"))
    await parts.inbox.add(event("2"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, slow, handed.shard_gained, handed.shard_lost)
        await parts.clock.settle()
        assert begun == ["1"]
        may_end.set()
        await parts.clock.settle()
        assert begun == ["1", "2"]
        tasks.cancel_scope.cancel()


async def test_a_second_node_gets_what_the_first_releases(parts: Parts, handed: Handed) -> None:
    second = parts.node("b")
    async with anyio.create_task_group() as outer:
        async with anyio.create_task_group() as inner:
            await parts.node("a").run(inner, handed.entry, handed.shard_gained, handed.shard_lost)
            await second.run(outer, handed.entry, handed.shard_gained, handed.shard_lost)
            await parts.clock.advance(2 * TTL_S)
            assert second.shards == frozenset()
            inner.cancel_scope.cancel()
        await parts.clock.advance(TTL_S)
        assert second.shards == frozenset(range(SHARDS))
        outer.cancel_scope.cancel()


async def test_a_shard_that_was_taken_is_reported_and_nothing_more_comes_from_it(parts: Parts, handed: Handed) -> None:
    node = parts.node("a")
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, handed.entry, handed.shard_gained, handed.shard_lost)
        token = next(lease.token for lease in handed.gained if lease.shard == SHARD)
        await parts.leases.release(f"shard:{SHARD}", LeaseHolder("a", TTL_S), token)
        assert await parts.leases.acquire(f"shard:{SHARD}", LeaseHolder("thief", 1000)) is not None
        await parts.clock.advance(TTL_S)
        assert handed.lost == [SHARD]
        assert node.shards == frozenset(range(SHARDS)) - {SHARD}
        await parts.inbox.add(event("1"))
        await parts.clock.advance(TTL_S)
        assert handed.entries == []
        tasks.cancel_scope.cancel()


async def test_a_shard_that_comes_back_is_read_from_its_start_under_the_new_token(parts: Parts, handed: Handed) -> None:
    thief = LeaseHolder("thief", TTL_S / 2)
    await parts.inbox.add(event("1"))
    async with anyio.create_task_group() as tasks:
        await parts.node("a").run(tasks, handed.entry, handed.shard_gained, handed.shard_lost)
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
        async with parts.node(name).bot_lease("telegram"):
            log.append(f"{name} holds")
            if name == "a":
                await may_end.wait()
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

    async def hold() -> None:
        async with parts.node("a").bot_lease("telegram"):
            try:
                await anyio.sleep_forever()
            finally:
                log.append("cancelled")
        log.append("after the block")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await parts.clock.settle()
        await parts.leases.release("bot:telegram", LeaseHolder("a", TTL_S), 1)
        assert await parts.leases.acquire("bot:telegram", LeaseHolder("thief", 1000)) is not None
        await parts.clock.advance(TTL_S)
    assert log == ["cancelled", "after the block"]


async def test_an_error_under_a_bots_lease_comes_out_as_it_is_and_frees_the_bot(parts: Parts) -> None:
    with pytest.raises(ZeroDivisionError):
        async with parts.node("a").bot_lease("telegram"):
            raise ZeroDivisionError
    assert await parts.leases.acquire("bot:telegram", LeaseHolder("b", TTL_S)) is not None
