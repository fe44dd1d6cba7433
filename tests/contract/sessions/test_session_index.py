"""The lists of sessions on a real server: many sessions, those of one moment, and databases from before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, SessionRecord
from tests.contract.sessions.test_lineage import facts_of
from tests.contract.storage_samples import SHARD, T0, beginning, shard_lease

pytestmark = pytest.mark.anyio

KEYS = ShardKeys(SHARD)


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20) as opened:
        yield opened


async def begun(connection: RedisConnection, *sessions: str) -> None:
    lease = await shard_lease(RedisLeaseStore(connection))
    for name in sessions:
        new = replace(beginning(lease, session=SessionId(name)), facts=facts_of(SessionId(name), 1, "one", "two"))
        await RedisSessionStore(connection).commit(new)


async def pages(connection: RedisConnection, limit: int) -> list[list[str]]:
    found: list[list[str]] = []
    mark = ""
    while not found or mark:
        page = await RedisSessionCatalog(connection).page(mark, limit=limit)
        found.append([str(known.record.id) for known in page.sessions])
        mark = page.next
    return found


async def test_sessions_of_one_moment_are_each_listed_once(connection: RedisConnection) -> None:
    names = [f"s{number:03d}" for number in range(90)]
    await begun(connection, *names)

    async def level(client: Redis) -> Any:
        await client.zadd(KEYS.sessions, dict.fromkeys(names, 1_000.0))

    await connection.retrying(level, KEYS.sessions)
    for limit in (7, 50):
        found = await pages(connection, limit)
        assert [name for page in found for name in page] == names[::-1]
        assert {len(page) for page in found[:-1]} == {limit}


async def test_a_page_asks_the_server_a_few_times_however_many_shards_its_sessions_are_in(
    connection: RedisConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, rooms = RedisSessionCatalog(connection), [Address("test", f"room {number}") for number in range(60)]
    for number, room in enumerate(rooms):
        session = SessionId(f"s{number:02d}")
        record = SessionRecord(session, room, "hello", T0, 1)
        await catalog.insert(WholeSession(record, False, frozenset(), facts_of(session, 1, "one")))
    assert len({shard_of(room.key) for room in rooms}) > 30
    asked: list[str] = []
    retrying = RedisConnection.retrying

    async def counted(self: RedisConnection, call: Any, key: str, **more: Any) -> Any:
        asked.append(key)
        return await retrying(self, call, key, **more)

    assert await catalog.count() == len(rooms)
    monkeypatch.setattr(RedisConnection, "retrying", counted)
    page = await catalog.page(limit=50)
    assert [str(known.record.id) for known in page.sessions] == [f"s{number:02d}" for number in range(59, 9, -1)]
    assert len(asked) <= 4


async def test_sessions_from_before_there_were_lists_are_found_and_stay_in_their_order(
    connection: RedisConnection,
) -> None:
    await begun(connection, "s1", "s2")
    lease = await shard_lease(RedisLeaseStore(connection))
    later = tuple(replace(fact, seq=3) for fact in facts_of(SessionId("s1"), 7, "later"))
    await RedisSessionStore(connection).commit(Commit(lease, SessionId("s1"), 2, facts=later))

    async def age(client: Redis) -> Any:
        await client.delete(KEYS.sessions)
        for shard in range(64):
            await client.delete(ShardKeys(shard).sessions_known)

    await connection.retrying(age, KEYS.sessions)
    await begun(connection, "s3")
    assert await pages(connection, 9) == [["s3", "s1", "s2"]]
    assert {known.record.id async for known in RedisSessionCatalog(connection).sessions()} == {"s1", "s2", "s3"}
    assert await RedisSessionCatalog(connection).count() == 3


async def test_a_listed_session_that_is_not_there_is_struck_out(connection: RedisConnection) -> None:
    await begun(connection, "s1")

    async def lie(client: Redis) -> Any:
        await client.zadd(KEYS.sessions, {"nobody": 5.0})

    await connection.retrying(lie, KEYS.sessions)
    assert await pages(connection, 9) == [["s1"]]
    assert await RedisSessionCatalog(connection).count() == 1


async def test_a_session_that_cannot_be_read_hides_no_other(connection: RedisConnection) -> None:
    await begun(connection, "s1", "s2")

    async def spoil(client: Redis) -> Any:
        await client.hset(KEYS.session(SessionId("s1")), "address", "{cut off")

    await connection.retrying(spoil, KEYS.sessions)
    assert await pages(connection, 9) == [["s2"]]
    assert await RedisSessionStore(connection).session(SHARD, SessionId("s1")) is None
    assert [fact.seq async for fact in RedisSessionStore(connection).read_session(SessionId("s2"))] == [1, 2]
