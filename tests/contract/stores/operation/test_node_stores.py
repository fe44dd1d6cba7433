"""The roster of nodes and a node, over every kind of store."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.stores.inbox import InboxEntry
from runtime.stores.sessions import SHARDS, Commit, Lease, LeaseHolder
from tests.contract.conftest import Stores
from tests.contract.storage_samples import NODE, OTHER_NODE, SESSION, SHARD, beginning, event
from tests.fakes.renewing import renewing
from tests.fakes.servers.shard_server import IdleServer

pytestmark = pytest.mark.anyio

ADA, BOB = LeaseHolder("ada", ttl_s=60.0), LeaseHolder("bob", ttl_s=60.0)
LIMIT_S = 60


async def test_those_live_that_said_so_and_for_how_long_is_known(stores: Stores) -> None:
    await stores.nodes.announce(ADA)
    living = await stores.nodes.announce(BOB)
    assert set(living.nodes) == {"ada", "bob"}
    assert all(0 < left_s <= 60 for left_s in living.nodes.values())
    assert set((await stores.nodes.living()).nodes) == {"ada", "bob"}


async def test_who_leaves_or_says_nothing_for_too_long_lives_no_more(stores: Stores) -> None:
    await stores.nodes.announce(LeaseHolder("brief", ttl_s=0.05))
    with anyio.fail_after(LIMIT_S):
        while (await stores.nodes.living()).nodes:
            await anyio.lowlevel.checkpoint()
    await stores.nodes.announce(ADA)
    await stores.nodes.announce(BOB)
    await stores.nodes.leave(ADA)
    living = await stores.nodes.living()
    assert (list(living.nodes), list(living.left)) == (["bob"], ["ada"])
    assert (await stores.nodes.announce(ADA)).left == frozenset()


async def test_who_comes_and_leaves_is_news_and_who_stays_is_none(stores: Stores) -> None:
    first = (await stores.nodes.announce(ADA)).news
    assert (await stores.nodes.announce(ADA)).news == first
    assert await stores.nodes.news(first, wait_s=0.01) == first
    second = (await stores.nodes.announce(BOB)).news
    assert await stores.nodes.news(first, wait_s=LIMIT_S) == second
    await stores.nodes.leave(BOB)
    assert await stores.nodes.news(second, wait_s=LIMIT_S) not in (first, second)


async def test_news_reach_at_once_who_waits_for_them(stores: Stores) -> None:
    known = (await stores.nodes.announce(ADA)).news
    heard: list[str] = []

    async def wait() -> None:
        heard.append(await stores.nodes.news(known, wait_s=LIMIT_S))

    with anyio.fail_after(LIMIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await stores.nodes.tell()
    assert heard != [known]


async def test_fronts_are_no_nodes_and_no_news_to_them(stores: Stores) -> None:
    first = (await stores.nodes.announce(ADA)).news
    await stores.fronts.announce(BOB)
    assert set((await stores.nodes.living()).nodes) == {"ada"}
    assert set((await stores.fronts.living()).nodes) == {"bob"}
    await stores.fronts.leave(BOB)
    assert await stores.nodes.news(first, wait_s=0.01) == first


def node_over(stores: Stores, clock: Clock, holder: LeaseHolder = NODE) -> ClusterNode:
    roster, renewal = ClusterRoster(stores.nodes, holder, clock), renewing(stores.leases, stores.nodes, holder, clock)
    return ClusterNode(stores.leases, stores.inbox, roster, renewal, Bus(clock))


async def test_what_comes_in_is_handed_over_and_can_be_committed_under_its_lease(stores: Stores) -> None:
    handed: list[str] = []
    send, receive = anyio.create_memory_object_stream[InboxEntry](10)
    node = node_over(stores, SystemClock())

    async def take(entry: InboxEntry, lease: Lease) -> None:
        if not handed:
            await stores.sessions.commit(beginning(lease))
        await stores.sessions.commit(Commit(lease, SESSION, 0, consume=(entry.entry_id,)))
        handed.append(entry.event.id)
        await send.send(entry)

    with send, receive:
        async with anyio.create_task_group() as tasks:
            await node.run(tasks, IdleServer(take))
            assert node.shards == frozenset(range(SHARDS))
            for name in ("1", "2", "3"):
                await stores.inbox.add(event(name))
                assert (await receive.receive()).event.id == name
            tasks.cancel_scope.cancel()
    assert handed == ["1", "2", "3"]
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)) == []


async def test_a_node_that_ends_frees_its_shards_at_once(stores: Stores) -> None:
    async with anyio.create_task_group() as tasks:
        node = node_over(stores, SystemClock())
        await node.run(tasks, IdleServer())
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
            await node_over(stores, SystemClock()).run(tasks, IdleServer(take))
            await came.wait()
            tasks.cancel_scope.cancel()
    (event_before, token_before), (event_after, token_after) = tokens
    assert event_before == event_after == "1"
    assert token_before < token_after


async def test_a_newcomer_has_its_half_without_waiting_for_a_heartbeat(stores: Stores) -> None:
    clock = SystemClock()
    slow, slow_too = LeaseHolder("ada", ttl_s=600), LeaseHolder("bob", ttl_s=600)
    ada, bob = node_over(stores, clock, slow), node_over(stores, clock, slow_too)
    balanced = anyio.Event()

    class Half(IdleServer):
        gains = 0

        async def gained(self, lease: Lease, /) -> None:
            self.gains += 1
            if self.gains == SHARDS // 2:
                balanced.set()

    async with anyio.create_task_group() as tasks:
        await ada.run(tasks, IdleServer())
        await bob.run(tasks, Half())
        await balanced.wait()
        assert (len(ada.shards), len(bob.shards)) == (SHARDS // 2, SHARDS // 2)
        tasks.cancel_scope.cancel()
