"""An event that cannot be read keeps nobody from reading the others, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from runtime.tape.tape import TapeBranch
from tests.contract.sessions.test_lineage import CHILD, going_on
from tests.contract.storage_samples import HERE, SESSION, SHARD, beginning, event, facts, shard_lease

pytestmark = pytest.mark.anyio

BROKEN: list[dict[str, str]] = [{"e": "{cut off"}, {"e": "[]"}, {"e": '{"id": "telegram:42"}'}, {"x": "no event"}]


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20) as opened:
        yield opened


async def put(connection: RedisConnection, key: str, fields: dict[str, str]) -> None:
    async def call(client: Redis) -> Any:
        return await client.xadd(key, dict(fields.items()))

    await connection.retrying(call, key)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
async def test_it_becomes_a_dead_letter_and_those_behind_it_are_read(
    connection: RedisConnection, broken: dict[str, str]
) -> None:
    inbox, letters = RedisInbox(connection), RedisDeadLetters(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await put(connection, ShardKeys(SHARD).inbox, broken)
    await inbox.add(event("1"))
    unreadable, good = await inbox.read({SHARD: "0"}, wait_s=1)
    assert (unreadable.shard, unreadable.event.kind) == (SHARD, "unreadable")
    assert unreadable.event.text == broken.get("e", "")
    assert good.event == event("1")
    await inbox.discard(unreadable, lease.token, reason="nobody can read it")
    assert list(await inbox.read({SHARD: "0"}, wait_s=1)) == [good]
    (letter,) = await letters.page(limit=9)
    assert (letter.event, letter.reason) == (unreadable.event, "nobody can read it")
    await letters.drop(letter.id)


async def test_dead_letters_that_cannot_be_read_are_listed_with_the_others(connection: RedisConnection) -> None:
    for broken in BROKEN:
        await put(connection, ShardKeys(SHARD).dead, broken)
    letters = await RedisDeadLetters(connection).page(limit=9)
    assert [letter.event.text for letter in letters] == [broken.get("e", "") for broken in BROKEN]


async def test_a_page_that_cannot_be_read_is_nobodys(connection: RedisConnection) -> None:
    store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await store.commit(replace(beginning(lease), facts=facts(1, "one"), outbox_add=("p1",)))
    for member in ("{cut off", "17", '"s1"', "[]"):
        await connection.write("SADD", ShardKeys(SHARD).outbox, member)
    assert await store.unfinished(SHARD) == {SESSION: {"p1"}}
    await store.commit(replace(going_on(lease, TapeBranch(SESSION, 1), at=HERE), replaces=SESSION))
    assert await store.unfinished(SHARD) == {CHILD: frozenset()}
    assert {known.record.id async for known in catalog.sessions()} == {SESSION, CHILD}
    assert await catalog.delete(CHILD, force=True)


async def test_a_person_is_forgotten_in_what_cannot_be_read(connection: RedisConnection) -> None:
    for broken in BROKEN:
        await put(connection, ShardKeys(SHARD).inbox, broken)
    await RedisTraces(connection).person(PersonKeys("telegram:42", frozenset()))
    left = await RedisInbox(connection).read({SHARD: "0"}, wait_s=0.01)
    assert [entry.event.text for entry in left] == ["{cut off", "[]", ""]
