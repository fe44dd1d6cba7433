"""Every store of what was said in conversations, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.kept import RedisKeptWords
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import shard_of
from runtime.stores.kept import KeptWords, KeptWordsStore
from runtime.stores.sessions import Commit, SessionRecord
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.contract.storage_samples import T0, shard_lease
from tests.contract.stores.operation.test_traces import erasure
from tests.fakes.clock import FakeClock
from tests.fakes.memory.kept_words import MemoryKeptWords

pytestmark = pytest.mark.anyio

ADA, BOB = "telegram:42", "telegram:421"
HERE = Address("telegram", "-5", "9")
FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))


def words(text: str, number: int, person: str = ADA, *inside: Quote) -> KeptWords:
    """What somebody said, with everything."""
    file = Attachment("a.png", "image/png", "telegram-file:x", 3)
    name = {ADA: "Ada", BOB: "Bob"}[person]
    return KeptWords(Quote(str(number), name, text, "said", ("a.png",), inside, T0, person), (file,))


@pytest.fixture(params=["memory", *SETUPS, ENCRYPTED])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[KeptWordsStore]:
    if request.param == "memory":
        yield MemoryKeptWords(FakeClock())
        return
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        yield RedisKeptWords(connection)


async def kept(store: KeptWordsStore, *several: KeptWords, at_most: int = 50) -> None:
    for one in several:
        await store.keep(HERE, one, keep_s=1_000, at_most=at_most)


async def texts(store: KeptWordsStore, before: str = "") -> list[str]:
    return [one.said.text for one in await store.before(HERE, before)]


async def test_what_was_said_is_told_as_it_was_and_in_the_order_in_which_it_came(store: KeptWordsStore) -> None:
    said = [words(str(number), number) for number in (9, 10, 11, 100)]
    await kept(store, *said, said[1])
    assert list(await store.before(HERE, "")) == said
    assert list(await store.before(HERE, "100")) == said[:3]
    assert list(await store.before(replace(HERE, thread=None), "")) == []


async def test_the_earliest_are_given_up_for_those_that_come(store: KeptWordsStore) -> None:
    await kept(store, *(words(str(number), number) for number in range(8, 13)), at_most=3)
    assert await texts(store) == ["10", "11", "12"]


async def test_what_was_changed_is_told_as_it_is_now_and_as_old_as_it_was(store: KeptWordsStore) -> None:
    await kept(store, words("one", 1), words("two", 2))
    later = replace(words("won", 1).said, said_at=T0.replace(year=2099))
    await store.change(HERE, replace(words("won", 1), said=later))
    await store.change(HERE, words("never said", 3))
    assert list(await store.before(HERE, "")) == [words("won", 1), words("two", 2)]


async def test_what_was_taken_back_is_not_told(store: KeptWordsStore) -> None:
    await kept(store, words("one", 1), words("two", 2))
    await store.remove(HERE, "1")
    await store.remove(HERE, "never said")
    await store.change(HERE, words("won", 1))
    assert list(await store.before(HERE, "")) == [words("two", 2)]


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([FIRST])) as opened:
        yield opened


async def test_the_server_itself_forgets_what_was_said_at_its_time(connection: RedisConnection) -> None:
    store = RedisKeptWords(connection)
    await store.keep(HERE, words("one", 1), keep_s=50, at_most=9)
    await store.keep(HERE, words("two", 2), keep_s=5_000, at_most=9)
    await store.change(HERE, words("won", 1))

    async def left(client: Redis) -> Any:
        return {key: await client.pttl(key) async for key in client.scan_iter("*:said*")}

    lasting = {key.rpartition(":")[2]: ms for key, ms in (await connection.everywhere(left))[0].items()}
    assert 0 < lasting["1"] <= 50_000
    assert 50_000 < lasting["2"] <= 5_000_000
    assert min(lasting.values()) > 0


async def test_a_person_who_is_forgotten_is_in_nobodys_past(connection: RedisConnection) -> None:
    store, quoted = RedisKeptWords(connection), Quote("1", "Ada", "a secret", person=ADA)
    await kept(store, words("a secret", 1), words("as she says", 2, BOB, quoted), words("else", 3, BOB))
    assert await RedisTraces(connection).person(PersonKeys(ADA, frozenset())) == 2
    assert list(await store.before(HERE, "")) == [words("as she says", 2, BOB), words("else", 3, BOB)]


async def test_with_a_session_that_is_deleted_goes_what_is_kept_of_its_place(connection: RedisConnection) -> None:
    store, session = RedisKeptWords(connection), SessionId("s1")
    await kept(store, words("one", 1))
    await store.keep(replace(HERE, thread="10"), words("elsewhere", 1), keep_s=1_000, at_most=9)
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(HERE.key))
    begin = SessionRecord(session, HERE, "hello", T0, 0)
    await RedisSessionStore(connection).commit(Commit(lease, session, 0, begin=begin))
    await erasure(connection).sessions([session])
    assert await texts(store) == []
    assert len(await store.before(replace(HERE, thread="10"), "")) == 1


async def test_what_is_kept_is_sealed_and_follows_to_another_key(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([FIRST])) as connection:
        await kept(RedisKeptWords(connection), words("wisteria", 1))

        async def everything(client: Redis) -> Any:
            return [await client.hgetall(key) async for key in client.scan_iter("*:said-message:*")]

        assert "wisteria" not in str(await connection.everywhere(everything))
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND, FIRST])) as connection:
        assert await DatabaseRekeying(connection, "web").run() == 1
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND])) as connection:
        assert await texts(RedisKeptWords(connection)) == ["wisteria"]
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([FIRST])) as connection:
        assert await texts(RedisKeptWords(connection)) == []
