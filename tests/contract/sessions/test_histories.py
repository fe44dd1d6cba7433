"""A server that has forgotten something, and a process that knows better."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.core.errors import LeaseLost
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Commit
from tests.contract.storage_samples import NODE, SESSION, SHARD, beginning, event, facts, shard_lease

pytestmark = pytest.mark.anyio

KEYS = ShardKeys(SHARD)


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20) as opened:
        yield opened


async def test_commits_and_the_lease_are_refused_by_a_server_with_fewer_commits(connection: RedisConnection) -> None:
    sessions, leases = RedisSessionStore(connection), RedisLeaseStore(connection)
    lease = await shard_lease(leases)
    await sessions.commit(beginning(lease))
    await sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "one")))
    await connection.write("HSET", KEYS.lease, "commits", 1)
    with pytest.raises(LeaseLost, match="has 1: a replica or an older file"):
        await sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two")))
    assert not await leases.renew(f"shard:{SHARD}", NODE, lease.token)

    again = await shard_lease(leases)
    await sessions.commit(Commit(again, SESSION, 1, facts=facts(2, "two")))
    assert await leases.renew(f"shard:{SHARD}", NODE, again.token)


async def test_the_lease_is_refused_by_a_server_whose_inbox_ends_before_what_was_read(
    connection: RedisConnection,
) -> None:
    inbox, leases = RedisInbox(connection), RedisLeaseStore(connection)
    lease = await shard_lease(leases)
    await inbox.add(event("1"))
    (entry,) = await inbox.read({SHARD: "0"}, wait_s=60)
    assert await leases.renew(f"shard:{SHARD}", NODE, lease.token)
    await inbox.dismiss(entry, lease.token)
    assert await leases.renew(f"shard:{SHARD}", NODE, lease.token)

    milliseconds, _, number = entry.entry_id.partition("-")
    before = [f"{int(milliseconds) - 1}-{number}", *([f"{milliseconds}-{int(number) - 1}"] if int(number) else [])]
    for last in before:
        await connection.write("UNLINK", KEYS.inbox)
        await connection.write("XADD", KEYS.inbox, last, "e", "older")
        assert not await leases.renew(f"shard:{SHARD}", NODE, lease.token)
    await connection.write("UNLINK", KEYS.inbox)
    assert not await leases.renew(f"shard:{SHARD}", NODE, lease.token)
    again = await shard_lease(leases)
    assert await leases.renew(f"shard:{SHARD}", NODE, again.token)


async def test_a_token_that_the_server_forgot_does_not_come_again(connection: RedisConnection) -> None:
    leases = RedisLeaseStore(connection)
    lease = await shard_lease(leases)
    await connection.write("UNLINK", KEYS.lease)
    assert (await shard_lease(leases)).token > lease.token


async def test_the_word_of_a_server_counts_from_the_latest_lease_on(connection: RedisConnection) -> None:
    sessions, leases = RedisSessionStore(connection), RedisLeaseStore(connection)
    lease = await shard_lease(leases)
    await sessions.commit(beginning(lease))
    await connection.write("UNLINK", KEYS.lease)
    again = await shard_lease(leases)
    connection.histories.committed(SHARD, lease.token, 99)
    await sessions.commit(Commit(again, SESSION, 0, facts=facts(1, "one")))
    assert await leases.renew(f"shard:{SHARD}", NODE, again.token)
