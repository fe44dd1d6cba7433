"""Many who follow tapes on one node, most of which are quiet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis

from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Commit, Lease
from runtime.tape.tape import Fact
from tests.contract.sessions.test_lineage import facts_of
from tests.contract.storage_samples import NODE, beginning

pytestmark = pytest.mark.anyio

SHARDS = range(8)
EACH = range(3)


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20) as opened:
        yield opened


async def waiting_reads(connection: RedisConnection) -> int:
    async def call(client: Redis) -> Any:
        return await client.client_list()

    return sum(client["cmd"] == "xread" for client in await connection.retrying(call, ""))


class Followed:
    """Sessions of several shards, each with one fact and somebody who has heard it."""

    def __init__(self, connection: RedisConnection, stack: AsyncExitStack) -> None:
        self.store = RedisSessionStore(connection)
        self._leases = RedisLeaseStore(connection)
        self._stack = stack
        self.readers: dict[tuple[int, int], AsyncIterator[Fact]] = {}
        self._held: dict[int, Lease] = {}

    async def begin(self) -> None:
        for shard in SHARDS:
            token = await self._leases.acquire(f"shard:{shard}", NODE)
            assert token is not None
            self._held[shard] = Lease(shard, token)
            for number in EACH:
                session = SessionId(f"s{shard}.{number}")
                await self.store.commit(beginning(self._held[shard], session=session))
                read: Any = self.store.follow(session)
                self.readers[shard, number] = await self._stack.enter_async_context(aclosing(read))

    async def say(self, shard: int, number: int, seq: int) -> None:
        session = SessionId(f"s{shard}.{number}")
        commit = Commit(self._held[shard], session, seq - 1, facts=facts_of(session, seq, "new"))
        await self.store.commit(commit)


async def test_all_quiet_followers_of_a_node_hear_the_next_fact_by_one_read(connection: RedisConnection) -> None:
    heard: list[tuple[int, int, int]] = []
    async with AsyncExitStack() as stack:
        followed = Followed(connection, stack)
        await followed.begin()

        async def listen(shard: int, number: int) -> None:
            async for fact in followed.readers[shard, number]:
                heard.append((shard, number, fact.seq))
                if fact.seq == 3:
                    return

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for shard, number in followed.readers:
                    tasks.start_soon(listen, shard, number)
                for seq in (1, 2, 3):
                    for shard, number in followed.readers:
                        await followed.say(shard, number, seq)
                    while len(heard) < seq * len(followed.readers):
                        await anyio.lowlevel.checkpoint()
                    if seq < 3:
                        assert await waiting_reads(connection) <= 1
    for who in followed.readers:
        assert [seq for shard, number, seq in heard if (shard, number) == who] == [1, 2, 3]


async def test_nobody_reads_the_news_when_nobody_follows_any_more(connection: RedisConnection) -> None:
    async with AsyncExitStack() as stack:
        followed = Followed(connection, stack)
        await followed.begin()
        await followed.say(0, 0, 1)
        assert (await anext(followed.readers[0, 0])).seq == 1

        async def wait() -> None:
            await anext(followed.readers[0, 0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while not await waiting_reads(connection):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    with anyio.fail_after(20):
        while await waiting_reads(connection):
            await anyio.lowlevel.checkpoint()
