"""The Redis stores while their server is killed and comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from msgspec.structs import replace

from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.events.happening import Happening
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Commit
from tests.contract.storage_samples import NODE, SESSION, SHARD, beginning, event, facts, shard_lease
from tests.fakes.servers.cut_wire import CutWire
from tests.fakes.servers.valkey import RealValkey

pytestmark = pytest.mark.anyio


class Heard:
    """What the connection told, and a signal for the first loss."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.told: list[Happening] = []
        self.lost = anyio.Event()

    def __call__(self, what: Happening) -> None:
        self.names.append(what.name)
        self.told.append(what)
        if what.name == "storage.lost":
            self.lost.set()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealValkey]:
    """A server of this test's own."""
    server = RealValkey(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def connection(server: RealValkey, heard: Heard, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(server.socket, on_event=heard) as connection:
        yield connection


async def test_commits_under_way_while_the_server_dies_are_applied_once(
    server: RealValkey, connection: RedisConnection, heard: Heard
) -> None:
    sessions, leases = RedisSessionStore(connection), RedisLeaseStore(connection)
    lease = await shard_lease(leases)
    await sessions.commit(beginning(lease))
    total = 400
    at = 0

    async def write() -> None:
        nonlocal at
        for at in range(total):
            await sessions.commit(Commit(lease, SESSION, at, facts=facts(at + 1, str(at)), outbox_add=(f"p{at}",)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        for threshold in (50, 150, 250):
            while at < threshold:
                await anyio.lowlevel.checkpoint()
            heard.lost = anyio.Event()
            server.kill()
            await heard.lost.wait()
            await anyio.to_thread.run_sync(server.start)
    assert [fact.data["text"] async for fact in sessions.read_session(SESSION)] == [str(n) for n in range(total)]
    assert (await sessions.unfinished(SHARD))[SESSION] == {f"p{n}" for n in range(total)}
    assert heard.names == ["storage.lost", "storage.back"] * 3


async def test_a_server_without_memory_is_waited_for_and_no_commit_is_half(
    server: RealValkey, connection: RedisConnection, heard: Heard
) -> None:
    sessions, leases, inbox = RedisSessionStore(connection), RedisLeaseStore(connection), RedisInbox(connection)
    lease = await shard_lease(leases)
    await sessions.commit(beginning(lease))
    await inbox.add(event("1"))
    (taken,) = await inbox.read({SHARD: "0"}, wait_s=1)

    async def seen() -> tuple[list[int], int]:
        return [fact.seq async for fact in sessions.read_session(SESSION)], len(
            await inbox.read({SHARD: "0"}, wait_s=0.01)
        )

    async def write() -> None:
        await sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "one"), consume=(taken.entry_id,)))
        await sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two"), outbox_add=("p",)))

    server.limit_memory(1024 * 1024)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await heard.lost.wait()
        assert await seen() in (([], 1), ([1], 0))
        server.limit_memory(0)
    assert await seen() == ([1, 2], 0)
    assert heard.names == ["storage.lost", "storage.back"]
    assert "used memory > 'maxmemory'" in heard.told[0].data()["reason"]


async def test_a_commit_whose_answer_was_lost_is_applied_once(server: RealValkey, tmp_path: Path) -> None:
    async with CutWire(server.socket, tmp_path / "wire.sock") as wire, open_connection(wire.path) as connection:
        sessions, leases = RedisSessionStore(connection), RedisLeaseStore(connection)
        lease = await shard_lease(leases)
        await sessions.commit(beginning(lease))
        wire.swallow_next_answer()
        await sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "one"), outbox_add=("p",)))
        assert wire.swallowed == 1
        assert len([fact async for fact in sessions.read_session(SESSION)]) == 1


async def test_an_event_whose_answer_was_lost_is_taken_in_once_and_reported_as_new(
    server: RealValkey, tmp_path: Path
) -> None:
    async with CutWire(server.socket, tmp_path / "wire.sock") as wire, open_connection(wire.path) as connection:
        inbox = RedisInbox(connection)
        await inbox.add(event("0"))
        wire.swallow_next_answer()
        assert await inbox.add(event("1"))
        assert wire.swallowed == 1
        assert not await inbox.add(event("1"))
        assert [entry.event.id for entry in await inbox.read({SHARD: "0"}, wait_s=1)] == ["0", "1"]


async def test_a_waiting_reader_survives_the_server(
    server: RealValkey, connection: RedisConnection, heard: Heard
) -> None:
    inbox = RedisInbox(connection)
    read: list[str] = []

    async def wait_for_news() -> None:
        read.extend([entry.event.id for entry in await inbox.read({SHARD: "0"}, wait_s=60)])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_for_news)
        while not read and "storage.lost" not in heard.names:
            server.kill()
            await heard.lost.wait()
        await anyio.to_thread.run_sync(server.start)
        await inbox.add(event("1"))
    assert read == ["1"]


async def test_patience_that_runs_out_is_an_error(server: RealValkey) -> None:
    async with open_connection(server.socket, patience_s=0.05) as connection:
        server.kill()
        with pytest.raises(StorageUnavailable, match="did not come back"):
            await RedisLeaseStore(connection).acquire("shard:1", NODE)


async def test_a_server_that_knows_no_scripts_is_taught(server: RealValkey, connection: RedisConnection) -> None:
    lease = await shard_lease(RedisLeaseStore(connection))
    await connection.everywhere(lambda client: client.script_flush())
    await RedisSessionStore(connection).commit(replace(beginning(lease), facts=facts(1, "one")))
    assert await RedisSessionStore(connection).session(SHARD, SESSION) is not None


async def test_an_answer_that_makes_no_sense_is_unavailability(connection: RedisConnection) -> None:
    await connection.write("SET", ShardKeys(1).lease, "not a hash")
    with pytest.raises(StorageUnavailable, match="WRONGTYPE"):
        await RedisLeaseStore(connection).acquire("shard:1", NODE)


async def test_a_session_is_found_by_a_process_that_has_not_met_it(
    server: RealValkey, connection: RedisConnection
) -> None:
    lease = await shard_lease(RedisLeaseStore(connection))
    await RedisSessionStore(connection).commit(replace(beginning(lease), facts=facts(1, "one", "two")))
    fresh = RedisSessionStore(connection)
    assert [fact.seq async for fact in fresh.read_session(SESSION)] == [1, 2]


async def test_a_bad_url_is_named() -> None:
    with pytest.raises(ConfigError, match="PARLEY_REDIS_URL"):
        async with open_connection("http://nowhere"):
            pass
