"""Every store of memories, in memory and on a real server."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.ids import SessionId
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.memories import RedisMemories
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import shard_of
from runtime.stores.memories import MemoryScope, MemoryStore, StoredMemory
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.fakes.memory.memories import MemoryMemories

pytestmark = pytest.mark.anyio

ADA, BOB = "telegram:42", "telegram:421"
ADAS, GROUP = MemoryScope("person", "tax office", ADA), MemoryScope("place", "tax office", "telegram:-7#12")
FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))


def memory(name: str, scope: MemoryScope = ADAS, owner: str = ADA, about: str = "") -> StoredMemory:
    """A memory with everything."""
    return StoredMemory(
        name, scope, owner, about, f"text of {name}", 1_767_000_000.25, "telegram:42", SessionId("s"), "m7", ("old",)
    )


@pytest.fixture(params=["memory", *SETUPS, ENCRYPTED])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[MemoryStore]:
    if request.param == "memory":
        yield MemoryMemories()
        return
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        yield RedisMemories(connection)


async def test_a_memory_is_kept_once_as_it_was_and_has_a_number_of_its_own(store: MemoryStore) -> None:
    assert await store.version(ADAS) == ""
    for name in ("one", "two", "one"):
        await store.keep(memory(name), keep_s=1000)
    assert await store.all(ADAS) == [replace(memory("one"), number=1), replace(memory("two"), number=2)]
    assert await store.all(GROUP) == []


async def test_what_was_forgotten_stays_forgotten_and_its_number_is_not_given_again(store: MemoryStore) -> None:
    for name in ("one", "two"):
        await store.keep(memory(name), keep_s=1000)
    assert await store.forget(ADAS, ["two", "three"]) == 1
    for name in ("two", "three", "four"):
        await store.keep(memory(name), keep_s=1000)
    assert [(one.id, one.number) for one in await store.all(ADAS)] == [("one", 1), ("four", 3)]


async def test_the_version_changes_with_the_memories_and_with_nothing_else(store: MemoryStore) -> None:
    seen = []
    for _ in range(2):
        await store.keep(memory("one"), keep_s=1000)
        seen.append(await store.version(ADAS))
    await store.keep(memory("two"), keep_s=1000)
    seen.append(await store.version(ADAS))
    await store.forget(ADAS, ["one"])
    seen.append(await store.version(ADAS))
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


async def test_vectors_are_a_models_own_and_go_with_their_memories(store: MemoryStore) -> None:
    assert isinstance(store, MemoryMemories | RedisMemories)
    one, two = memory("one"), memory("two")
    await store.keep(one, keep_s=1000)
    await store.keep_vectors(ADAS, [(one, b"\x01\xff"), (two, b"\x02\x02")], "openai/x")
    assert await store.vectors(ADAS, [one, two], "openai/x") == {"one": b"\x01\xff"}
    assert await store.vectors(ADAS, [one], "openai/y") == {}
    await store.keep_vectors(ADAS, [(one, b"\x03")], "openai/y")
    assert await store.vectors(ADAS, [one], "openai/y") == {"one": b"\x03"}
    await store.forget(ADAS, ["one"])
    await store.keep_vectors(ADAS, [(one, b"\x01\xff")], "openai/y")
    assert await store.vectors(ADAS, [one], "openai/y") == {}
    assert await store.all(ADAS) == []


async def test_vectors_change_no_version(store: MemoryStore) -> None:
    assert isinstance(store, MemoryMemories | RedisMemories)
    await store.keep(memory("one"), keep_s=1000)
    before = await store.version(ADAS)
    await store.keep_vectors(ADAS, [(memory("one"), b"\x01")], "openai/x")
    assert await store.version(ADAS) == before


async def test_memories_are_gone_when_the_last_of_them_was_kept_long_enough(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        await RedisMemories(connection).keep(memory("one"), keep_s=1000)
        await RedisMemories(connection).keep_vectors(ADAS, [(memory("one"), b"\x01")], "openai/x")
        keys = ShardKeys(shard_of(ADAS.key))
        for key in (keys.memories(ADAS.key), keys.memory_vectors(ADAS.key)):
            assert 990_000 < int(await connection.ask("PTTL", key)) <= 1_000_000


async def test_deleting_a_person_takes_away_theirs_and_what_others_said_of_them(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        store, bobs = RedisMemories(connection), MemoryScope("person", "tax office", BOB)
        for one in (
            memory("own"),
            memory("in the group", GROUP),
            memory("bobs in the group", GROUP, BOB),
            memory("bobs", bobs, BOB),
            memory("of ada", bobs, BOB, "ada"),
        ):
            await store.keep(one, keep_s=1000)
            await store.keep_vectors(one.scope, [(one, b"\x01")], "openai/x")
        assert await RedisTraces(connection).person(PersonKeys(ADA, frozenset(), names=frozenset({"Ada"}))) == 3
        assert await store.all(ADAS) == []
        assert [one.id for one in await store.all(GROUP)] == ["bobs in the group"]
        assert [one.id for one in await store.all(bobs)] == ["bobs"]
        for scope, left in ((ADAS, []), (GROUP, ["bobs in the group"]), (bobs, ["bobs"])):
            key = ShardKeys(shard_of(scope.key)).memory_vectors(scope.key)
            assert await connection.ask("HKEYS", key) == left


async def test_texts_are_sealed_and_their_key_changes_with_the_others(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([FIRST])) as connection:
        await RedisMemories(connection).keep(memory("one", about="Carol"), keep_s=1000)
        kept = str(await connection.ask("HGET", ShardKeys(shard_of(ADAS.key)).memories(ADAS.key), "1"))
        await RedisMemories(connection).keep_vectors(ADAS, [(memory("one"), bytes(range(99)))], "openai/x")
        vector = str(await connection.ask("HGET", ShardKeys(shard_of(ADAS.key)).memory_vectors(ADAS.key), "one"))
        assert base64.b64encode(bytes(range(99))).decode() not in vector
        assert "text of" not in kept
        assert "Carol" not in kept
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND, FIRST])) as connection:
        assert await DatabaseRekeying(connection, "web").run() == 2
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND])) as connection:
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}
        assert [one.text for one in await RedisMemories(connection).all(ADAS)] == ["text of one"]
        vectors = await RedisMemories(connection).vectors(ADAS, [memory("one")], "openai/x")
        assert vectors == {"one": bytes(range(99))}
    async with open_connection(valkey_socket, patience_s=20) as connection:
        assert await RedisMemories(connection).all(ADAS) == []
        assert await RedisMemories(connection).vectors(ADAS, [memory("one")], "openai/x") == {}
