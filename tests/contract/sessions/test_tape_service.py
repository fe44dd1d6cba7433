"""What every store gives those who read tapes from outside, and what a commit is to those who write them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.errors import TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.fact_form import LARGE_BYTES
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, Lease
from runtime.tape.tape import UNREADABLE, Fact, TapeBranch, TapeReader, agent_tape, last_facts, session_tape
from tests.contract.conftest import Stores
from tests.contract.sessions.test_lineage import CHILD, ELSEWHERE, facts_of, going_on, texts_of
from tests.contract.storage_samples import HERE, SESSION, SHARD, T0, beginning, facts, shard_lease

pytestmark = pytest.mark.anyio

KEYS = ShardKeys(SHARD)


def reader_of(stores: Stores) -> TapeReader:
    """What is tested here."""
    return stores.readers


async def begun(stores: Stores, *texts: str) -> Lease:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, *texts)))
    return lease


def numbered(first: int, *kinds: str, session: SessionId = SESSION) -> tuple[Fact, ...]:
    tapes = [agent_tape(session, "1000"), session_tape(session)]
    return tuple(Fact(tapes[seq % 2], seq, kind, T0, {"n": seq}) for seq, kind in enumerate(kinds, start=first))


async def seqs(read: AsyncIterator[Fact]) -> list[int]:
    return [fact.seq async for fact in read]


# A commit is a batch with an expected head, and its own idempotency key.


async def test_a_batch_is_appended_whole_at_the_expected_head_or_not_at_all(stores: Stores) -> None:
    lease = await begun(stores, "one")
    await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two", "three")))
    with pytest.raises(TapeConflict) as refused:
        await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "other", "more", "most")))
    assert refused.value.actual == 3
    assert await texts_of(stores, SESSION) == ["one", "two", "three"]


async def test_a_batch_that_comes_twice_is_appended_once(stores: Stores) -> None:
    lease = await begun(stores, "one")
    batch = Commit(lease, SESSION, 1, facts=facts(2, "two", "three"))
    for _ in range(3):
        await stores.sessions.commit(batch)
    assert await texts_of(stores, SESSION) == ["one", "two", "three"]


# Ways to read.


@pytest.mark.parametrize(("after", "until"), [(0, 7), (3, 4), (0, None), (6, None), (7, None), (4, 2)])
async def test_any_range_is_read(stores: Stores, after: int, until: int | None) -> None:
    await begun(stores, *"abcdefg")
    found = await texts_of(stores, SESSION, after, until)
    assert found == list("abcdefg")[after:until]


async def test_facts_are_read_back_from_the_last(stores: Stores) -> None:
    lease = await begun(stores, *map(str, range(1203)))
    reader = reader_of(stores)
    assert await seqs(reader.read_back(SESSION)) == list(range(1203, 0, -1))
    assert await seqs(reader.read_back(SESSION, before=4)) == [3, 2, 1]
    assert await seqs(reader.read_back(SESSION, before=1)) == []
    assert await seqs(reader.read_back(SessionId("nobody"))) == []
    await stores.sessions.commit(going_on(lease, TapeBranch(SESSION, 2), "own", at=HERE))
    assert [fact.data["text"] async for fact in reader.read_back(CHILD)] == ["own", "1", "0"]
    assert [fact.tape async for fact in reader.read_back(CHILD)] == [f.tape for f in facts_of(CHILD, 1, *"abc")[::-1]]


async def test_the_last_facts_come_in_order(stores: Stores) -> None:
    await begun(stores, *"abcdefg")
    found = await last_facts(reader_of(stores), SESSION, 3)
    assert [fact.data["text"] for fact in found] == ["e", "f", "g"]
    assert len(await last_facts(reader_of(stores), SESSION, 99)) == 7
    assert await last_facts(reader_of(stores), SESSION, 0) == []


async def test_the_last_anchor_of_a_kind_is_found(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    tape = numbered(1, "begin", "said", "compact", "said", "begin", "said")
    await stores.sessions.commit(replace(beginning(lease), facts=tape))
    reader = reader_of(stores)
    assert await reader.last_anchor(SESSION, "begin") == 5
    assert await reader.last_anchor(SESSION, "begin", until=4) == 1
    assert await reader.last_anchor(SESSION, "compact") == 3
    assert await reader.last_anchor(SESSION, "compact", until=2) is None
    assert await reader.last_anchor(SESSION, "ended") is None


async def test_anchors_are_found_through_branches(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=numbered(1, "begin", "compact", "said", "compact")))
    fork = going_on(lease, TapeBranch(SESSION, 3), at=HERE)
    await stores.sessions.commit(replace(fork, facts=numbered(4, "said", "begin", session=CHILD)))
    reader = reader_of(stores)
    assert await reader.last_anchor(CHILD, "compact") == 2
    assert await reader.last_anchor(CHILD, "begin") == 5
    assert await reader.last_anchor(CHILD, "begin", until=4) == 1
    await stores.catalog.delete(SESSION, force=True)
    assert await reader.last_anchor(CHILD, "compact") == 2
    whole = await stores.catalog.whole(CHILD)
    assert whole is not None
    await stores.catalog.delete(CHILD, force=True)
    await stores.catalog.insert(whole)
    assert await reader.last_anchor(CHILD, "compact") == 2


async def heard(read: AsyncIterator[Fact], count: int) -> list[int]:
    """The next facts of somebody who follows."""
    found: list[int] = []
    with anyio.fail_after(60):
        while len(found) < count:
            found.append((await anext(read)).seq)
    return found


async def test_who_follows_from_the_past_crosses_into_what_comes_without_a_gap(stores: Stores) -> None:
    lease = await begun(stores, *"abc")
    async with aclosing(_closable(reader_of(stores).follow(SESSION, after=1))) as read:
        assert await heard(read, 2) == [2, 3]
        coming: list[int] = []
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                coming.extend(await heard(read, 5))

            tasks.start_soon(listen)
            for seq in range(3, 8):
                await stores.sessions.commit(Commit(lease, SESSION, seq, facts=facts(seq + 1, "new")))
        assert coming == [4, 5, 6, 7, 8]


async def test_who_follows_hears_of_a_tape_that_is_new(stores: Stores) -> None:
    lease = await begun(stores, "one")
    async with aclosing(_closable(reader_of(stores).follow(SESSION))) as read:
        assert await heard(read, 1) == [1]
        new = Fact(agent_tape(SESSION, "1001"), 2, "said", T0, {"text": "I am new"})
        await stores.sessions.commit(Commit(lease, SESSION, 1, facts=(new,)))
        assert await heard(read, 1) == [2]


async def test_who_follows_is_not_held_up_by_what_others_commit(stores: Stores) -> None:
    lease = await begun(stores, "one")
    await stores.sessions.commit(beginning(lease, session=CHILD))
    async with aclosing(_closable(reader_of(stores).follow(SESSION))) as read:
        assert await heard(read, 1) == [1]
        for seq in range(150):
            await stores.sessions.commit(Commit(lease, CHILD, seq, facts=facts_of(CHILD, seq + 1, "other")))
        await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two")))
        assert await heard(read, 1) == [2]


async def test_following_ends_when_the_session_is_deleted(stores: Stores) -> None:
    await begun(stores, "one")
    found: list[int] = []
    async with anyio.create_task_group() as tasks:

        async def follow() -> None:
            found.extend(await seqs(reader_of(stores).follow(SESSION)))

        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        await stores.catalog.delete(SESSION, force=True)
    assert found == [1]
    assert await seqs(reader_of(stores).follow(SessionId("nobody"))) == []


def _closable(read: AsyncIterator[Fact]) -> Any:
    return read


# Large values.


def large(text: str, letters: int = LARGE_BYTES) -> str:
    return text * letters


def told(session: SessionId, first: int, *values: Any) -> tuple[Fact, ...]:
    tape = agent_tape(session, "1000")
    return tuple(
        Fact(tape, seq, "res", T0, {"name": "Read", "val": value, "text": f"fact {seq}"})
        for seq, value in enumerate(values, start=first)
    )


VALUES: Sequence[Any] = (
    large("x"),
    large("ü", LARGE_BYTES // 2),
    [large("y", 9000), {"deep": large("z", 9000)}],
    "short",
    large("x"),
)


async def test_large_values_are_read_as_they_were_written(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    written = told(SESSION, 1, *VALUES)
    await stores.sessions.commit(replace(beginning(lease), facts=written))
    assert [fact async for fact in stores.sessions.read_session(SESSION)] == list(written)
    assert [fact async for fact in reader_of(stores).read_back(SESSION)] == list(written)[::-1]
    theirs = await shard_lease(stores.leases, shard=shard_of(ELSEWHERE.key))
    await stores.sessions.commit(going_on(theirs, TapeBranch(SESSION, 3)))
    await stores.catalog.delete(SESSION, force=True)
    forked = [fact.data["val"] async for fact in stores.sessions.read_session(CHILD)]
    assert forked == list(VALUES[:3])
    whole = await stores.catalog.whole(CHILD)
    assert whole is not None
    await stores.catalog.delete(CHILD, force=True)
    await stores.catalog.insert(whole)
    assert await stores.catalog.whole(CHILD) == replace(whole, record=dataclasses.replace(whole.record, parent=None))


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20) as opened:
        yield opened


async def keys_like(connection: RedisConnection, pattern: str) -> list[str]:
    async def call(client: Redis) -> Any:
        return sorted([key async for key in client.scan_iter(match=pattern)])

    found: list[str] = await connection.retrying(call, pattern)
    return found


async def test_a_large_value_is_stored_once_and_goes_with_the_last_session_that_has_it(
    connection: RedisConnection,
) -> None:
    store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await store.commit(replace(beginning(lease), facts=told(SESSION, 1, large("x"), large("x"))))
    await store.commit(replace(beginning(lease, session=CHILD), facts=told(CHILD, 1, large("x"), large("y"))))
    kept = [KEYS.value(hashlib.sha256(f'"{large(letter)}"'.encode()).hexdigest()) for letter in "xy"]
    assert await keys_like(connection, "{parley:*}:value:*") == sorted(kept)
    await catalog.delete(SESSION, force=True)
    assert await keys_like(connection, "{parley:*}:value:*") == sorted(kept)
    assert [fact.data["val"][0] async for fact in store.read_session(CHILD)] == ["x", "y"]
    await catalog.delete(CHILD, force=True)
    assert await keys_like(connection, "{parley:*}:value*") == []


async def test_a_commit_with_a_large_value_that_comes_twice_counts_it_once(connection: RedisConnection) -> None:
    store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    first = replace(beginning(lease), facts=told(SESSION, 1, large("x")))
    await store.commit(first)
    await store.commit(first)
    await store.commit(Commit(lease, SESSION, 1, facts=told(SESSION, 2, large("x"))))
    await catalog.delete(SESSION, force=True)
    assert await keys_like(connection, "{parley:*}:value*") == []


# What cannot be read, and what is older than a rule.


async def test_a_fact_that_cannot_be_read_does_not_keep_anybody_from_reading_the_others(
    connection: RedisConnection,
) -> None:
    store = RedisSessionStore(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await store.commit(replace(beginning(lease), facts=facts(1, "one", "two")))
    await store.commit(Commit(lease, SESSION, 2, facts=told(SESSION, 3, large("x"))))

    async def spoil(client: Redis) -> Any:
        tape = KEYS.tape(agent_tape(SESSION, "1000"))
        await client.delete(tape)
        await client.xadd(tape, {"k": "said", "t": "2026-11-21T08:30:00+00:00", "d": "{cut off"}, id="2-0")
        for key in await client.keys("{parley:*}:value:*"):
            await client.delete(key)
        await client.xadd(tape, {"k": "res", "t": "2026-11-21T08:30:00+00:00", "d": "{}", "v": '{"val":"0"}'}, id="3-0")

    await connection.retrying(spoil, KEYS.lease)
    read = [fact async for fact in store.read_session(SESSION)]
    assert [fact.kind for fact in read] == ["said", UNREADABLE, UNREADABLE]
    assert read[1].data["fields"]["d"] == "{cut off"
    whole = await RedisSessionCatalog(connection).whole(SESSION)
    assert whole is not None
    assert len(whole.facts) == 3


async def test_anchors_of_a_session_from_before_they_were_noted_are_found(connection: RedisConnection) -> None:
    store = RedisSessionStore(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await store.commit(replace(beginning(lease), facts=numbered(1, "begin", "compact", "said")))

    async def age(client: Redis) -> Any:
        await client.hdel(KEYS.session(SESSION), "anchors")
        await client.delete(KEYS.anchors(SESSION))

    await connection.retrying(age, KEYS.lease)
    await store.commit(Commit(lease, SESSION, 3, facts=numbered(4, "compact")))
    assert await store.last_anchor(SESSION, "begin") == 1
    assert await store.last_anchor(SESSION, "compact") == 4
    assert await store.last_anchor(SESSION, "compact", until=3) == 2
