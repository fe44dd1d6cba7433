"""A node over every kind of store, with the machine's clock."""

from __future__ import annotations

import anyio
import pytest

from gateway.node import Node
from runtime.core.clock import SystemClock
from runtime.sessions.inbox import InboxEntry
from runtime.sessions.store import SHARDS, Commit, Lease
from tests.contract.conftest import Stores
from tests.contract.storage_samples import NODE, OTHER_NODE, SESSION, SHARD, beginning, event

pytestmark = pytest.mark.anyio


async def ignore_gain(_lease: Lease) -> None:
    """Nothing to restore."""


def ignore_loss(_shard: int) -> None:
    """Nothing to stop."""


async def test_what_comes_in_is_handed_over_and_can_be_committed_under_its_lease(stores: Stores) -> None:
    handed: list[str] = []
    send, receive = anyio.create_memory_object_stream[InboxEntry](10)
    node = Node(stores.leases, stores.inbox, NODE, SystemClock())

    async def take(entry: InboxEntry, lease: Lease) -> None:
        if not handed:
            await stores.sessions.commit(beginning(lease))
        await stores.sessions.commit(Commit(lease, SESSION, 0, consume=(entry.entry_id,)))
        handed.append(entry.event.id)
        await send.send(entry)

    with send, receive:
        async with anyio.create_task_group() as tasks:
            await node.run(tasks, take, ignore_gain, ignore_loss)
            assert node.shards == frozenset(range(SHARDS))
            for name in ("1", "2", "3"):
                await stores.inbox.add(event(name))
                assert (await receive.receive()).event.id == name
            tasks.cancel_scope.cancel()
    assert handed == ["1", "2", "3"]
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)) == []


async def test_a_node_that_ends_frees_its_shards_at_once(stores: Stores) -> None:
    async with anyio.create_task_group() as tasks:
        node = Node(stores.leases, stores.inbox, NODE, SystemClock())
        await node.run(tasks, lambda _entry, _lease: None, ignore_gain, ignore_loss)
        assert await stores.leases.acquire(f"shard:{SHARD}", OTHER_NODE) is None
        tasks.cancel_scope.cancel()
    assert await stores.leases.acquire(f"shard:{SHARD}", OTHER_NODE) is not None


async def test_what_was_not_committed_is_handed_over_again_by_the_successor(stores: Stores) -> None:
    tokens: list[tuple[str, int]] = []
    await stores.inbox.add(event("1"))
    for _ in range(2):
        came = anyio.Event()

        def take(entry: InboxEntry, lease: Lease, came: anyio.Event = came) -> None:
            tokens.append((entry.event.id, lease.token))
            came.set()

        async with anyio.create_task_group() as tasks:
            await Node(stores.leases, stores.inbox, NODE, SystemClock()).run(tasks, take, ignore_gain, ignore_loss)
            await came.wait()
            tasks.cancel_scope.cancel()
    assert tokens == [("1", 1), ("1", 2)]
