"""Sessions that nobody has spoken with for long go into an archive, and come back when somebody does."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ArchiveUnavailable, ConfigError, SessionExists, TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.archive.postgres import open_postgres
from runtime.storage.archive.sqlite import open_sqlite
from runtime.storage.encoding.codec import session_from_archive, session_to_archive
from runtime.storage.encoding.sealing import PLAIN
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.archive import SessionArchive
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeBranch, agent_tape, session_tape
from tests.contract.setups import ENCRYPTED, sealing_of
from tests.contract.storage_samples import T0, shard_lease
from tests.fakes.servers.postgres import RealPostgres

pytestmark = pytest.mark.anyio

HALL = Address("web", "hall")
S1, S2 = SessionId("s1"), SessionId("s2")


@pytest.fixture(scope="session")
def postgres() -> Iterator[RealPostgres]:
    """One real server for the whole run."""
    server = RealPostgres()
    server.start()
    yield server
    server.kill()
    server.remove()


@pytest.fixture(params=["sqlite", "postgres", ENCRYPTED])
async def archive(request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str) -> AsyncIterator[SessionArchive]:
    async with AsyncExitStack() as stack:
        if request.param != "postgres":
            opened_file = open_sqlite(tmp_path / "archive.sqlite", sealing_of(request.param))
            yield await stack.enter_async_context(opened_file)
            return
        server: RealPostgres = request.getfixturevalue("postgres")
        opened = await stack.enter_async_context(open_postgres(server.url))
        yield opened
        for session in [session async for session in opened.sessions()]:
            await opened.remove(session)


@pytest.fixture
async def connection(
    request: pytest.FixtureRequest, valkey_socket: Path, anyio_backend: str
) -> AsyncIterator[RedisConnection]:
    archived_in = request.node.callspec.params.get("archive", "") if hasattr(request.node, "callspec") else ""
    async with open_connection(valkey_socket, patience_s=20, sealing=sealing_of(archived_in)) as opened:
        yield opened


def facts_of(session: SessionId, first: int, last: int, text: str = "hello") -> tuple[Fact, ...]:
    """Facts of two tapes in turn."""
    tapes = (session_tape(session), agent_tape(session, "1000"))
    return tuple(
        Fact(tapes[seq % 2], seq, "noted", T0 + timedelta(seconds=seq), {"text": f"{text} {seq} 🜚"})
        for seq in range(first, last + 1)
    )


def whole_of(session: SessionId, count: int, text: str = "hello") -> WholeSession:
    record = SessionRecord(session, HALL, "greeter", T0, count)
    return WholeSession(record, False, frozenset(), list(facts_of(session, 1, count, text)))


class Hall:
    """A conversation in a database, with what looks after its sessions."""

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None, lease: Lease) -> None:
        self.store = RedisSessionStore(connection, archive)
        self.catalog = RedisSessionCatalog(connection, archive)
        self.lease = lease

    async def begin(self, session: SessionId, count: int, *, text: str = "hello") -> None:
        record = SessionRecord(session, HALL, "greeter", T0, 0)
        await self.store.commit(Commit(self.lease, session, 0, facts_of(session, 1, count, text), begin=record))

    async def facts(self, session: SessionId) -> list[Fact]:
        return [fact async for fact in self.store.read_session(session)]


async def hall(connection: RedisConnection, archive: SessionArchive | None) -> Hall:
    return Hall(connection, archive, await shard_lease(RedisLeaseStore(connection), shard=shard_of(HALL.key)))


async def test_session_is_kept_whole_and_replaced_and_removed(archive: SessionArchive) -> None:
    assert await archive.get(S1) is None
    await archive.put(whole_of(S1, 3))
    await archive.put(whole_of(S2, 1))
    await archive.put(whole_of(S1, 700))
    assert await archive.get(S1) == whole_of(S1, 700)
    assert sorted([session async for session in archive.sessions()]) == [S1, S2]
    assert (await archive.remove(S1), await archive.remove(S1)) == (True, False)
    assert [session async for session in archive.sessions()] == [S2]


async def test_more_sessions_than_a_page_are_listed_once_each(archive: SessionArchive) -> None:
    ids = [SessionId(f"session-{number}") for number in range(1201)]
    for id_ in ids:
        await archive.put(whole_of(id_, 1))
    listed = [session async for session in archive.sessions()]
    assert sorted(listed) == sorted(ids)


async def test_content_that_cannot_be_read_is_told() -> None:
    packed = session_to_archive(whole_of(S1, 2), PLAIN)
    for content in (b"", packed[:-1], b"{}", session_to_archive(whole_of(S1, 0), PLAIN)[:5]):
        with pytest.raises(ArchiveUnavailable, match="s1 cannot be read"):
            session_from_archive(S1, content, PLAIN)


async def test_sqlite_file_belongs_to_its_user_and_another_file_is_refused(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "archive.sqlite") as archive:
        await archive.put(whole_of(S1, 2))
    assert (tmp_path / "archive.sqlite").stat().st_mode & 0o777 == 0o600
    (tmp_path / "letter").write_text("Dear Ada, this is no database at all, but a letter.")
    with pytest.raises(ConfigError, match="letter cannot be used as an archive"):
        async with open_sqlite(tmp_path / "letter"):
            pass
    newer = sqlite3.connect(tmp_path / "newer")
    newer.execute("PRAGMA user_version = 2")
    newer.close()
    with pytest.raises(ConfigError, match="version 2"):
        async with open_sqlite(tmp_path / "newer"):
            pass


def found_in(directory: Path, content: bytes) -> bool:
    return any(content in file.read_bytes() for file in directory.iterdir())


async def test_sqlite_leaves_nothing_of_what_was_deleted_in_any_file(tmp_path: Path) -> None:
    packed = session_to_archive(whole_of(S1, 200), PLAIN)
    inside = packed[100:200]
    async with open_sqlite(tmp_path / "archive.sqlite") as archive, open_sqlite(tmp_path / "archive.sqlite") as other:
        await archive.put(whole_of(S2, 3))
        await archive.put(whole_of(S1, 200))
        assert await other.get(S1) == whole_of(S1, 200)
        assert found_in(tmp_path, inside)
        await archive.remove(S1)
        assert not found_in(tmp_path, inside)
        assert await other.get(S2) == whole_of(S2, 3)


async def test_postgres_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PostgreSQL there cannot be used"):
        async with open_postgres(f"postgresql://postgres@/postgres?host={tmp_path}"):
            pass


async def test_postgres_that_went_and_came_back_goes_on(postgres: RealPostgres) -> None:
    async with open_postgres(postgres.url) as archive:
        await archive.put(whole_of(S1, 2))
        postgres.kill()
        with pytest.raises(ArchiveUnavailable, match="away"):
            await archive.get(S1)
        postgres.start()
        assert await archive.get(S1) == whole_of(S1, 2)
        await archive.remove(S1)


async def test_session_that_is_spoken_with_again_comes_back_as_it_was(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 500, text="x" * 5_000)
    before = await room.catalog.find(S1)
    assert before is not None
    assert await room.catalog.put_away(S1)
    away = await room.catalog.find(S1)
    assert away is not None
    assert (away.state, away.last_at, away.size_bytes) == ("archived", before.last_at, before.size_bytes)
    assert not [key for key in await keys_left(connection) if key.startswith("tape:")]
    whole = await room.catalog.whole(S1)
    assert whole is not None
    assert len(whole.facts) == 500
    back = await room.store.current(room.lease.shard, HALL.key)
    assert back == before.record
    assert await room.facts(S1) == list(facts_of(S1, 1, 500, "x" * 5_000))
    await room.store.commit(Commit(room.lease, S1, 500, facts_of(S1, 501, 502)))
    assert len(await room.facts(S1)) == 502


async def test_large_values_leave_the_database_and_come_back(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 2, text="y" * 40_000)
    await room.catalog.put_away(S1)

    async def values(client: object) -> list[str]:
        return [key async for key in client.scan_iter("*:value:*")]  # type: ignore[attr-defined]

    assert await connection.retrying(values, "") == []
    await room.store.current(room.lease.shard, HALL.key)
    assert await room.facts(S1) == list(facts_of(S1, 1, 2, "y" * 40_000))
    assert len(await connection.retrying(values, "")) == 2


async def test_who_has_the_session_in_memory_is_refused_and_finds_it_whole(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    assert await room.catalog.put_away(S1)
    with pytest.raises(TapeConflict, match="archive"):
        await room.store.commit(Commit(room.lease, S1, 3, facts_of(S1, 4, 4)))
    assert await room.store.session(room.lease.shard, S1) is not None
    await room.store.commit(Commit(room.lease, S1, 3, facts_of(S1, 4, 4)))
    assert len(await room.facts(S1)) == 4


@pytest.mark.parametrize("busy", ["awake", "page", "fork"])
async def test_what_something_goes_on_with_stays(
    busy: str, archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    if busy == "awake":
        await room.store.commit(Commit(room.lease, S1, 3, awake=True))
    elif busy == "page":
        await room.store.commit(Commit(room.lease, S1, 3, outbox_add=("p1",)))
    else:
        await fork(room)
    assert not await room.catalog.put_away(S1)
    assert len(await room.facts(S1)) == 3


async def fork(room: Hall) -> None:
    """S2 goes on from the second fact of S1, in the same place."""
    record = SessionRecord(S2, HALL, "greeter", T0, 2, parent=TapeBranch(S1, 2))
    await room.store.commit(Commit(room.lease, S2, 2, facts_of(S2, 3, 4), begin=record, replaces=S1))


async def test_fork_takes_what_it_goes_on_from_along_and_lets_it_go(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    await fork(room)
    assert await room.catalog.put_away(S2)
    assert await room.catalog.put_away(S1), "nothing goes on from it any more"
    back = await room.store.current(room.lease.shard, HALL.key)
    assert (back and back.id, back and back.parent) == (S2, None)
    assert [fact.seq for fact in await room.facts(S2)] == [1, 2, 3, 4]


async def test_session_in_the_archive_can_be_gone_on_from(archive: SessionArchive, connection: RedisConnection) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    await room.catalog.put_away(S1)
    await fork(room)
    assert [fact.seq for fact in await room.facts(S2)] == [1, 2, 3, 4]


async def test_session_in_the_archive_is_read_before_it_is_gone_on_from(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 500)
    await room.catalog.put_away(S1)
    read = [fact async for fact in room.store.read_session(S1, after=10, until=490)]
    assert read == list(facts_of(S1, 11, 490))
    known = await room.catalog.find(S1)
    assert known is not None
    assert known.state == "resting"


async def test_move_that_was_broken_off_on_its_way_back_is_made_again(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 450)
    await room.catalog.put_away(S1)
    half = replace(whole_of(S1, 450), facts=list(facts_of(S1, 1, 200)))
    await write_some(connection, half, room.lease.shard)
    assert await room.store.current(room.lease.shard, HALL.key) is not None
    assert await room.facts(S1) == list(facts_of(S1, 1, 450))


async def write_some(connection: RedisConnection, whole: WholeSession, shard: int) -> None:
    """What a node wrote that died over it."""
    from runtime.storage.redis.sessions.fact_form import write_facts

    async def each() -> AsyncIterator[Fact]:
        for fact in whole.facts:
            yield fact

    keys = ShardKeys(shard)
    await write_facts(SessionPlaces(connection), each(), whole.record.id, keys, keys.tape)


async def test_deleted_session_is_deleted_from_the_archive(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    await room.catalog.put_away(S1)
    assert await room.catalog.delete(S1)
    assert await archive.get(S1) is None
    assert await room.store.current(room.lease.shard, HALL.key) is None


async def test_where_the_conversation_has_one_in_the_archive_another_is_not_taken_in(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    assert await room.catalog.put_away(S1)
    with pytest.raises(SessionExists, match="another session now, s1"):
        await room.catalog.insert(whole_of(S2, 2))
    ended = whole_of(S2, 2)
    await room.catalog.insert(replace(ended, record=dataclasses.replace(ended.record, ended=True)))
    known = await room.catalog.find(S1)
    assert known is not None
    assert known.state == "archived"
    await room.catalog.replace(whole_of(S1, 2))
    assert await room.facts(S1) == list(facts_of(S1, 1, 2))


class Meddled:
    """An archive during whose calls something else happens."""

    def __init__(self, archive: SessionArchive) -> None:
        self._archive = archive
        self.meddle: Callable[[], Awaitable[object]] | None = None

    async def put(self, whole: WholeSession, /) -> None:
        await self._meddle()
        await self._archive.put(whole)

    async def get(self, session: SessionId, /) -> WholeSession | None:
        found = await self._archive.get(session)
        await self._meddle()
        return found

    async def remove(self, session: SessionId, /) -> bool:
        return await self._archive.remove(session)

    def sessions(self) -> AsyncIterator[SessionId]:
        return self._archive.sessions()

    async def _meddle(self) -> None:
        meddle, self.meddle = self.meddle, None
        if meddle is not None:
            await meddle()


async def keys_left(connection: RedisConnection) -> list[str]:
    async def call(client: Any) -> list[str]:
        return [key.partition("}:")[2] async for key in client.scan_iter()]

    return sorted(set(await connection.retrying(call, "")) - {"lease", "news", "sessions-known"})


async def test_session_that_is_deleted_while_it_is_put_away_is_nowhere(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    meddled = Meddled(archive)
    room = await hall(connection, meddled)
    await room.begin(S1, 3, text="z" * 40_000)
    meddled.meddle = lambda: room.catalog.delete(S1)
    assert not await room.catalog.put_away(S1)
    assert await archive.get(S1) is None
    assert await keys_left(connection) == []


async def test_session_that_is_deleted_while_it_comes_back_is_nowhere(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    meddled = Meddled(archive)
    room = await hall(connection, meddled)
    await room.begin(S1, 3, text="z" * 40_000)
    assert await room.catalog.put_away(S1)
    meddled.meddle = lambda: room.catalog.delete(S1)
    assert await room.store.current(room.lease.shard, HALL.key) is None
    assert await archive.get(S1) is None
    assert await keys_left(connection) == []


async def test_session_that_two_bring_back_goes_on_where_one_is_late(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    meddled = Meddled(archive)
    room = await hall(connection, meddled)
    await room.begin(S1, 3)
    assert await room.catalog.put_away(S1)

    async def go_on() -> None:
        assert await room.store.session(room.lease.shard, S1) is not None
        await room.store.commit(Commit(room.lease, S1, 3, facts_of(S1, 4, 4)))

    meddled.meddle = go_on
    late = await room.store.session(room.lease.shard, S1)
    assert late is not None
    assert (late.seq, late.archived) == (4, False)
    assert await room.facts(S1) == list(facts_of(S1, 1, 4))


async def test_snapshot_of_a_session_in_the_archive_is_not_kept(
    archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    assert await room.catalog.put_away(S1)
    await room.store.keep_snapshot(room.lease, S1, Snapshot(3, "v", "text"))
    assert not [key for key in await keys_left(connection) if key.startswith("snapshot")]


@pytest.mark.parametrize(("since_ms", "kept"), [(0, False), (10**15, True)])
async def test_fork_that_never_came_about_keeps_its_origin_only_for_a_while(
    since_ms: int, kept: bool, archive: SessionArchive, connection: RedisConnection
) -> None:
    room = await hall(connection, archive)
    await room.begin(S1, 3)
    forks = ShardKeys(room.lease.shard).forks(S1)
    await connection.write("HSET", forks, S2, f"[{room.lease.shard}, {since_ms}]")
    assert await room.catalog.put_away(S1) is not kept


async def test_without_its_archive_a_session_is_not_taken_for_an_empty_one(
    connection: RedisConnection, tmp_path: Path
) -> None:
    async with open_sqlite(tmp_path / "one") as one, open_sqlite(tmp_path / "other") as other:
        room = await hall(connection, one)
        await room.begin(S1, 3)
        await room.catalog.put_away(S1)
        for archive, why in ((other, "not into the one"), (None, "names none")):
            stranger = Hall(connection, archive, room.lease)
            with pytest.raises(ArchiveUnavailable, match=why):
                await stranger.store.current(room.lease.shard, HALL.key)
        assert await room.store.current(room.lease.shard, HALL.key) is not None
        assert len(await room.facts(S1)) == 3
