"""The store of what models were sent and replied: its bounds, its seal, and when it forgets."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.kept import RedisModelCalls
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.kept import KEPT_S, CallBounds, ModelCall, PromptMessage
from runtime.stores.sessions import Commit, SessionRecord
from tests.contract.storage_samples import T0, shard_lease
from tests.contract.stores.operation.test_traces import erasure

pytestmark = pytest.mark.anyio

HERE = Address("telegram", "-5", "9")
ONE, OTHER = SessionId("s1"), SessionId("s10")
FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))


def call(asked: int, heard: int, session: SessionId = ONE, **more: Any) -> ModelCall:
    """A call with everything, in which a secret was said."""
    prompt = (PromptMessage("system", "Be kind."), PromptMessage("user", "a wisteria", ("image/png, 9 bytes",)))
    made = ModelCall(
        *(session, asked, heard, T0, "f1", "1000", "Host", "Main", "Main:01:QUE", "test/model", "execute", prompt),
        *("Of course.", True, 1.5, 0.25, 100, 40, 7, None, True),
    )
    return replace(made, **more)


async def begun(connection: RedisConnection, *sessions: SessionId) -> None:
    """Sessions of one conversation, of which the last goes on."""
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(HERE.key))
    for session in sessions:
        begin = SessionRecord(session, HERE, "hello", T0, 0)
        await RedisSessionStore(connection).commit(Commit(lease, session, 0, begin=begin))


async def everything(connection: RedisConnection) -> dict[str, Any]:
    """All that the server has of calls, by key."""

    async def read(client: Redis) -> Any:
        keys = [key async for key in client.scan_iter("*:model-call*")]
        return {
            key: (
                await client.hgetall(key) if ":model-call:" in key else await client.zrange(key, 0, -1),
                await client.pttl(key),
            )
            for key in keys
        }

    return dict((await connection.everywhere(read))[0])


@pytest.fixture
async def connection(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([FIRST])) as opened:
        await begun(opened, ONE, OTHER)
        yield opened


async def test_a_call_is_told_as_it_was_to_whoever_asks_for_its_part_of_the_session(
    connection: RedisConnection,
) -> None:
    calls = RedisModelCalls(connection)
    early, late, other = call(3, 5), call(5, 9, prompt=(), whole=False, cost_usd=0.5), call(3, 5, OTHER)
    for one in (early, late, other):
        await calls.keep(one)
    assert list(await calls.between(ONE, 0, 100)) == [early, late]
    assert list(await calls.between(ONE, 4, 5)) == [early]
    assert list(await calls.between(ONE, 5, 6)) == [late]
    assert list(await calls.between(OTHER, 0, 100)) == [other]
    assert list(await calls.between(SessionId("never"), 0, 100)) == []


async def test_the_oldest_calls_go_beyond_the_number_and_the_bytes_of_a_shard(connection: RedisConnection) -> None:
    few = RedisModelCalls(connection, most=CallBounds(2, 10_000))
    for number in range(4):
        await few.keep(call(number, number, (ONE, OTHER)[number % 2]))
    left = await everything(connection)
    assert [one.asked_seq for one in (*await few.between(ONE, -1, 9), *await few.between(OTHER, -1, 9))] == [2, 3]
    assert len(left) == 3
    assert all(0 < ms <= KEPT_S * 1000 for _, ms in left.values()), "the server itself forgets them at their time"
    narrow = RedisModelCalls(connection, most=CallBounds(2, 3_500))
    await narrow.keep(call(7, 7))
    await narrow.keep(call(8, 8, reply=Random(1).randbytes(1_700).hex()))
    assert [one.asked_seq for one in await narrow.between(ONE, -1, 9)] == [8]
    await narrow.keep(call(9, 9, reply=Random(2).randbytes(3_000).hex()))
    assert len(await everything(connection)) == 0, "what alone is too much is not kept"


async def test_calls_that_failed_have_bounds_of_their_own_and_push_no_others_out(connection: RedisConnection) -> None:
    calls = RedisModelCalls(connection, most=CallBounds(2, 10_000), most_failed=CallBounds(3, 10_000))
    for number in range(9):
        await calls.keep(call(number, number, error="" if number < 3 else "the line is down"))
    assert [one.asked_seq for one in await calls.between(ONE, -1, 99)] == [1, 2, 6, 7, 8]
    for number in range(10, 13):
        await calls.keep(call(number, number))
    assert [one.asked_seq for one in await calls.between(ONE, -1, 99)] == [6, 7, 8, 11, 12]


async def test_with_its_session_a_call_is_gone_and_none_comes_after_it(connection: RedisConnection) -> None:
    calls = RedisModelCalls(connection)
    await calls.keep(call(1, 2))
    await calls.keep(call(1, 2, OTHER))
    await erasure(connection).sessions([ONE])
    await calls.keep(call(3, 4))  # its reply came while it was deleted
    assert list(await calls.between(ONE, 0, 9)) == []
    left = await everything(connection)
    assert len(left) == 2
    assert "s1 " not in str(left)
    assert len(await calls.between(OTHER, 0, 9)) == 1


async def test_what_a_session_has_used_adds_up_and_is_gone_with_it(connection: RedisConnection) -> None:
    calls, (one, other) = (
        RedisModelCalls(connection),
        [SessionRecord(id_, HERE, "hello", T0, 0) for id_ in (ONE, OTHER)],
    )
    await calls.spend(ONE, {"answers": 1, "usd": 0.25, "unpriced": 0})
    await calls.spend(ONE, {"answers": 1, "unpriced": 1})
    wanted = ["answers", "usd", "unpriced"]
    nothing = dict.fromkeys(wanted, 0.0)
    assert list(await calls.spent([other, one], wanted)) == [nothing, {"answers": 2, "usd": 0.25, "unpriced": 1}]
    await erasure(connection).sessions([ONE])
    await calls.spend(ONE, {"answers": 1})
    assert list(await calls.spent([one], wanted)) == [nothing]


async def test_calls_are_sealed_and_follow_to_another_key(valkey_socket: Path, connection: RedisConnection) -> None:
    await RedisModelCalls(connection).keep(call(1, 2))
    ((text, _),) = [found for key, found in (await everything(connection)).items() if ":model-call:" in key]
    assert ContentEncryption([FIRST]).is_current(b64decode(text["text"]))
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND, FIRST])) as both:
        assert await DatabaseRekeying(both, "web").run() == 1
    async with open_connection(valkey_socket, patience_s=20, sealing=ContentEncryption([SECOND])) as anew:
        assert list(await RedisModelCalls(anew).between(ONE, 0, 9)) == [call(1, 2)]
        assert set(await DatabaseRekeying(anew, "web").survey()) == {SECOND.id}
    assert list(await RedisModelCalls(connection).between(ONE, 0, 9)) == []
