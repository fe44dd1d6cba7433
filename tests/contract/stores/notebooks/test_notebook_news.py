"""Many who follow notebooks and sessions on one node, most of which are quiet."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from gateway.features.notebooks.redis import RedisNotebooks
from gateway.features.notebooks.store import Draft, entry_line
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from tests.contract.sessions.test_lineage import facts_of
from tests.contract.storage_samples import SESSION, beginning, shard_lease

pytestmark = pytest.mark.anyio

QUIET = 60


async def waiting_reads(connection: RedisConnection) -> int:
    async def call(client: Redis) -> Any:
        return await client.client_list()

    return sum(client["cmd"] == "xread" for client in await connection.retrying(call, ""))


async def test_all_who_follow_notebooks_and_sessions_of_a_node_cost_one_read(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection, AsyncExitStack() as stack:
        sessions = RedisSessionStore(connection)
        notebooks = RedisNotebooks(connection, sessions.news)
        lease = await shard_lease(RedisLeaseStore(connection))
        await sessions.commit(replace(beginning(lease), facts=facts_of(SESSION, 1, "one")))
        facts: Any = await stack.enter_async_context(aclosing(sessions.follow(SESSION)))
        assert (await anext(facts)).seq == 1
        followers = [await stack.enter_async_context(notebooks.following(f"n{number}")) for number in range(QUIET)]
        woken: list[int] = []
        async with anyio.create_task_group() as tasks:

            async def wait(number: int) -> None:
                await followers[number].news()
                woken.append(number)

            for number in range(QUIET):
                tasks.start_soon(wait, number)
            tasks.start_soon(anext, facts)
            with anyio.fail_after(20):
                while await waiting_reads(connection) != 1:
                    await anyio.lowlevel.checkpoint()
                await notebooks.append("n7", [Draft("message", entry_line("message", {}, {}, ""))])
                while 7 not in woken:
                    await anyio.lowlevel.checkpoint()
                assert await waiting_reads(connection) <= 1
            tasks.cancel_scope.cancel()
        assert len(woken) < QUIET / 2
