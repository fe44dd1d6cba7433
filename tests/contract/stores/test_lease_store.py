"""The contract of every LeaseStore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis

from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.stores.sessions import SHARDS
from tests.contract.conftest import Stores
from tests.contract.storage_samples import NODE, OTHER_NODE

pytestmark = pytest.mark.anyio


async def test_a_held_lease_is_refused_to_another_node(stores: Stores) -> None:
    assert await stores.leases.acquire("shard:3", NODE) is not None
    assert await stores.leases.acquire("shard:3", OTHER_NODE) is None


async def test_the_same_node_gets_its_lease_at_once_with_a_greater_token(stores: Stores) -> None:
    first = await stores.leases.acquire("shard:3", NODE)
    second = await stores.leases.acquire("shard:3", NODE)
    assert first is not None
    assert second is not None
    assert second > first
    assert not await stores.leases.renew("shard:3", NODE, first)
    assert await stores.leases.renew("shard:3", NODE, second)


async def test_a_released_lease_goes_to_another_node_with_a_greater_token(stores: Stores) -> None:
    first = await stores.leases.acquire("bot:telegram", NODE)
    assert first is not None
    await stores.leases.release("bot:telegram", NODE, first)
    second = await stores.leases.acquire("bot:telegram", OTHER_NODE)
    assert second is not None
    assert second > first
    assert not await stores.leases.renew("bot:telegram", NODE, first)


async def test_what_a_living_node_has_released_is_free(stores: Stores) -> None:
    token = await stores.leases.acquire("shard:3", NODE)
    assert token is not None
    assert await stores.leases.acquire("shard:3", OTHER_NODE, living=[NODE.node]) is None
    await stores.leases.release("shard:3", NODE, token)
    assert await stores.leases.acquire("shard:3", OTHER_NODE, living=[NODE.node]) is not None


async def test_releasing_with_a_stale_token_changes_nothing(stores: Stores) -> None:
    stale = await stores.leases.acquire("shard:3", NODE)
    assert stale is not None
    await stores.leases.acquire("shard:3", NODE)
    await stores.leases.release("shard:3", NODE, stale)
    assert await stores.leases.acquire("shard:3", OTHER_NODE) is None


async def test_a_lease_that_ran_out_is_renewed_while_nobody_took_it(stores: Stores) -> None:
    token = await stores.leases.acquire("shard:3", NODE)
    assert token is not None
    await stores.leases.release("shard:3", NODE, token)
    assert await stores.leases.renew("shard:3", NODE, token)
    assert await stores.leases.acquire("shard:3", OTHER_NODE) is None


async def test_names_are_independent(stores: Stores) -> None:
    assert await stores.leases.acquire("shard:3", NODE) is not None
    assert await stores.leases.acquire("shard:4", OTHER_NODE) is not None
    assert await stores.leases.acquire("bot:telegram", OTHER_NODE) is not None


async def test_a_lease_nobody_ever_held_cannot_be_renewed(stores: Stores) -> None:
    assert not await stores.leases.renew("shard:9", NODE, 1)


async def test_leases_that_are_renewed_at_once_are_renewed_in_one_call(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        leases, kept = RedisLeaseStore(connection), dict[int, bool]()
        tokens = {shard: await leases.acquire(f"shard:{shard}", NODE) or 0 for shard in range(SHARDS)}
        await leases.acquire("shard:5", NODE)  # a new token: the first one is void

        async def renew(shard: int) -> None:
            kept[shard] = await leases.renew(f"shard:{shard}", NODE, tokens[shard])

        async def sent(client: Redis) -> tuple[int, int]:
            stats: Any = await client.info("commandstats")
            return int(stats["cmdstat_evalsha"]["calls"]), int((await client.info("stats"))["total_reads_processed"])

        await renew(1)  # the server knows the script from here on
        scripts, reads = await connection.retrying(sent, "")
        async with anyio.create_task_group() as tasks:
            for shard in tokens:
                tasks.start_soon(renew, shard)
        scripts_after, reads_after = await connection.retrying(sent, "")
        assert kept == {shard: shard != 5 for shard in tokens}
        assert scripts_after - scripts == SHARDS
        assert reads_after - reads <= 8


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
async def test_who_renews_with_one_that_is_cancelled_renews_all_the_same(stores: Stores, turns: int) -> None:
    tokens = {f"shard:{shard}": await stores.leases.acquire(f"shard:{shard}", NODE) for shard in (3, 4)}
    kept: list[str] = []

    async def renew(name: str) -> None:
        token = tokens[name]
        assert token is not None
        if await stores.leases.renew(name, NODE, token):
            kept.append(name)

    async with anyio.create_task_group() as tasks, anyio.create_task_group() as ended:
        ended.start_soon(renew, "shard:3")
        tasks.start_soon(renew, "shard:4")
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        ended.cancel_scope.cancel()
    assert "shard:4" in kept
