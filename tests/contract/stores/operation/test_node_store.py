"""The roster of nodes, over every kind of store."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from runtime.stores.sessions import LeaseHolder
from tests.contract.conftest import Stores

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
