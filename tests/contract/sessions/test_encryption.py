"""Content that is encrypted where it is stored, on a real server: nobody reads it there, moves it or loses it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.redis import RedisSchedules
from runtime.channels.mailbox import ParticipantSeat, SeatLetter
from runtime.core.address import Address
from runtime.core.errors import ArchiveUnavailable, ContentLocked, StorageUnavailable
from runtime.core.files import FILE_URL
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.core.message import Attachment, Choice
from runtime.core.quote import Quote
from runtime.core.room import RoomChange
from runtime.storage.archive.sqlite import open_sqlite
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.storage.redis.client.connection import RedisConnection, RedisScript, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.mailboxes import RedisMailboxes
from runtime.storage.redis.records import RedisPlaceStore
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import LOCKED, shard_of
from runtime.stores.sessions import Commit, HeldPlace, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import UNREADABLE, Fact, TapeBranch, agent_tape, session_tape
from tests.contract.setups import location_of
from tests.contract.storage_samples import HERE, SESSION, SHARD, T0, beginning, event, facts, post, shard_lease
from tests.contract.stores.operation.test_traces import erasure

pytestmark = pytest.mark.anyio

FIRST, SECOND, THIRD = (Key(bytes([number]) * 32) for number in (1, 2, 3))
OLD, NEW = ContentEncryption([FIRST]), ContentEncryption([SECOND, FIRST])
SECRET = "wisteria"
LONG = f"{SECRET} " * 4000
FORK, HALL = SessionId("fork"), Address("web", "hall")


@pytest.fixture
def socket(valkey_socket: Path) -> Path:
    return valkey_socket


def opened(socket: Path, sealing: ContentSealing) -> AbstractAsyncContextManager[RedisConnection]:
    return open_connection(socket, patience_s=20, sealing=sealing)


async def filled(connection: RedisConnection) -> None:
    """Something of every kind, each with the secret."""
    sessions, inbox = RedisSessionStore(connection), RedisInbox(connection)
    lease = await shard_lease(RedisLeaseStore(connection))
    await sessions.commit(replace(beginning(lease), facts=facts(1, SECRET, LONG, "more " + SECRET)))
    await sessions.keep_snapshot(lease, SESSION, Snapshot(2, "v1", f'{{"said":"{SECRET}"}}'))
    quote = Quote("m0", SECRET, SECRET)
    brought = Quote("", SECRET, SECRET, "shared", (SECRET,), (quote,))
    await inbox.add(replace(event("1", text=SECRET), person_name=SECRET, quote=quote, around=(brought,)))
    await inbox.add(event("2", text=SECRET))
    first, *_ = [entry for entry in await inbox.read({SHARD: "0"}, wait_s=5) if entry.event.id == "1"]
    await inbox.discard(first, lease.token, reason=f"it said {SECRET}")
    rooms = RedisRoomStore(connection, platform="web")
    file = Attachment(f"{SECRET}.png", "image/png", "parley:file", 3)
    await rooms.put("hall", replace(post("m1", SECRET), quote=quote, files=(file,)))
    await rooms.put("hall", post("m2", "growing", final=False))
    await rooms.update("hall", "m2", text=f"growing {SECRET}", final=False)
    await rooms.put("hall", post("m3", "a question"))
    await rooms.amend("hall", "m3", RoomChange(text=f"{SECRET}?", choices=(Choice("a", SECRET),)))
    await RedisFileStore(connection).keep(SECRET.encode() * 30_000, "text/plain")
    letter = SeatLetter(ParticipantSeat(SESSION, AgentId("1003"), HERE), MessageId("m9"), {"text": SECRET})
    await RedisMailboxes(connection).put("tax", letter)


async def contents(connection: RedisConnection) -> tuple[Any, ...]:
    """All that `filled` has stored, as it is read."""
    sessions = RedisSessionStore(connection)
    rooms = await RedisRoomStore(connection, platform="web").history("hall", limit=9)
    letters = await RedisDeadLetters(connection).page(limit=9)
    events = await RedisInbox(connection).read({SHARD: "0"}, wait_s=5)
    return (
        [fact async for fact in sessions.read_session(SESSION)],
        await sessions.snapshot(SESSION, "v1"),
        [entry.event for entry in events],
        [(letter.event, letter.reason) for letter in letters],
        rooms,
        await RedisFileStore(connection).content((await file_ids(connection))[0]),
        [mail.letter for mail in await RedisMailboxes(connection).waiting("tax", "+", at_most=9)],
    )


async def file_ids(connection: RedisConnection) -> Sequence[str]:
    async def call(client: Redis) -> Any:
        return [key async for key in client.scan_iter("{parley:file:*}")]

    found = [key for keys in await connection.everywhere(call) for key in keys]
    return [key.removeprefix("{parley:file:").removesuffix("}") for key in found]


async def dump(socket: Path) -> dict[str, Any]:
    """Every key of the server with all that it has, as the server has it."""
    found: dict[str, Any] = {}
    async with raw(socket) as client:
        reading = {
            "hash": client.hgetall,
            "set": client.smembers,
            "string": client.get,
            "stream": client.xrange,
            "zset": lambda name: client.zrange(name, 0, -1, withscores=True),
        }
        async for key in client.scan_iter("*"):
            found[key.decode()] = await reading[(await client.type(key)).decode()](key)
    return found


@asynccontextmanager
async def raw(socket: Path) -> AsyncIterator[Any]:
    """The server itself."""
    client = Redis(unix_socket_path=str(socket))
    try:
        yield client
    finally:
        await client.aclose()


async def test_what_was_said_is_in_no_key_and_no_value(socket: Path) -> None:
    async with opened(socket, PLAIN) as connection:
        await filled(connection)
    told = repr(await dump(socket))
    assert told.count(SECRET) > 10, "without encryption the search finds it"
    async with raw(socket) as client:
        await client.flushall()
    async with opened(socket, OLD) as connection:
        await filled(connection)
        found = repr(await dump(socket))
        assert SECRET not in found
        assert "wisteriawisteria" not in found
        told_again = repr(await contents(connection))
    assert told_again.count(SECRET) > 10


async def test_equal_commits_are_recognised_and_equal_texts_change_nothing(socket: Path) -> None:
    async with opened(socket, OLD) as connection:
        store, rooms = RedisSessionStore(connection), RedisRoomStore(connection)
        commit = replace(beginning(await shard_lease(RedisLeaseStore(connection))), facts=facts(1, SECRET, LONG))
        await store.commit(commit)
        await store.commit(commit)
        await RedisSessionStore(connection).commit(commit)
        await rooms.put("hall", post("m1", SECRET))
        once = await rooms.update("hall", "m1", text="other", final=True)
        assert await rooms.update("hall", "m1", text="other", final=True) == once
        amended = await rooms.amend("hall", "m1", RoomChange(text="third"))
        assert await rooms.amend("hall", "m1", RoomChange(text="third")) == amended


@pytest.mark.parametrize("sealing", [PLAIN, ContentEncryption([SECOND])], ids=["no key", "another key"])
async def test_without_its_key_nothing_is_told_and_nothing_changed(socket: Path, sealing: ContentSealing) -> None:
    async with opened(socket, OLD) as connection:
        await filled(connection)
        await RedisSessionStore(connection).commit(going_on(await shard_lease(RedisLeaseStore(connection))))
    before = await dump(socket)
    async with opened(socket, sealing) as connection:
        store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
        locked = [fact async for fact in store.read_session(SESSION)]
        assert {fact.kind for fact in locked} == {UNREADABLE}
        assert all(f"The key {FIRST.id} is missing" in fact.data["locked"] for fact in locked)
        assert all(str(SESSION) in fact.data["locked"] for fact in locked)
        assert await store.snapshot(SESSION, "v1") is None
        for refused in (catalog.whole(SESSION), catalog.delete(SESSION, force=True)):
            with pytest.raises(ContentLocked, match=FIRST.id):
                await refused
        assert await catalog.put_away(SESSION) is False
        (entry,) = await RedisInbox(connection).read({SHARD: "0"}, wait_s=5)
        assert (entry.event.kind, entry.event.address) == (LOCKED, HERE)
        (letter,) = await RedisDeadLetters(connection).page(limit=9)
        assert FIRST.id in letter.event.text
        history = await RedisRoomStore(connection).history("hall", limit=9)
        assert {message.text for message in history} == {"🔒"}
        with pytest.raises(ContentLocked):
            await RedisFileStore(connection).content((await file_ids(connection))[0])
        with pytest.raises(ContentLocked):
            await RedisTraces(connection).person(PersonKeys("telegram:7", frozenset()))
        with pytest.raises(ContentLocked, match=str(SESSION)):
            await erasure(connection).person("telegram:7")
    after = await dump(socket)
    assert {key: value for key, value in after.items() if not key.endswith(":sessions-known")} == before


def going_on(lease: Any) -> Commit:
    """A session that goes on from another one."""
    record = SessionRecord(FORK, HALL, "hello", T0, 2, parent=TapeBranch(SESSION, 2))
    return Commit(replace(lease), FORK, 2, begin=record)


async def test_an_event_that_was_put_aside_without_its_key_is_whole_when_the_key_is_back(socket: Path) -> None:
    async with opened(socket, OLD) as connection:
        await RedisInbox(connection).add(event("1", text=SECRET))
    async with opened(socket, PLAIN) as connection:
        inbox, lease = RedisInbox(connection), await shard_lease(RedisLeaseStore(connection))
        (entry,) = await inbox.read({SHARD: "0"}, wait_s=5)
        await inbox.discard(entry, lease.token, reason=entry.event.text)
    async with opened(socket, OLD) as connection:
        (letter,) = await RedisDeadLetters(connection).page(limit=9)
        assert FIRST.id in letter.reason
        await RedisDeadLetters(connection).replay(letter.id)
        (again,) = await RedisInbox(connection).read({SHARD: "0"}, wait_s=5)
        assert again.event == event("1", text=SECRET)


async def test_old_content_stays_readable_when_encryption_is_switched_on_and_off(socket: Path) -> None:
    async with opened(socket, PLAIN) as connection:
        await filled(connection)
        before = await contents(connection)
    async with opened(socket, OLD) as connection:
        assert await contents(connection) == before
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        await store.commit(Commit(lease, SESSION, 3, facts=facts(4, "azalea")))
        assert [fact.seq async for fact in store.read_session(SESSION)] == [1, 2, 3, 4]
        assert "azalea" not in repr(await dump(socket))
        await DatabaseRekeying(connection, "web").run()
        assert SECRET not in repr(await dump(socket))
        assert (await contents(connection))[1:] == before[1:]
    async with opened(socket, ContentEncryption([FIRST], [])) as connection:
        await DatabaseRekeying(connection, "web").run()
    async with opened(socket, PLAIN) as connection:
        after = await contents(connection)
        assert after[0][:3] == before[0]
        assert after[2:5] == before[2:5]


@pytest.mark.parametrize("field", ["d", "k", "t", "v"])
async def test_a_fact_that_was_changed_is_not_believed(socket: Path, field: str) -> None:
    async with opened(socket, OLD) as connection:
        await filled(connection)
        key = ShardKeys(SHARD).tape(agent_tape(SESSION, "1000"))
        async with raw(socket) as client:
            ((entry_id, fields),) = await client.xrange(key)
            data = fields[b"d"]
            await client.delete(key)
            changed_to = {"d": data[:20] + b"AAAA" + data[24:], "v": b"{}", "k": b"other", "t": T0.isoformat()}
            await client.xadd(key, {**fields, field: changed_to[field]}, id=entry_id)
        changed = [fact async for fact in RedisSessionStore(connection).read_session(SESSION)]
        assert [fact.kind == UNREADABLE for fact in changed] == [False, True, False]


async def test_content_cannot_be_moved_to_another_session_or_place(socket: Path) -> None:
    other = SessionId("s2")
    async with opened(socket, OLD) as connection:
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        await store.commit(replace(beginning(lease), facts=facts(1, SECRET, "second", "third")))
        theirs = Fact(agent_tape(other, "1000"), 1, "said", T0, {"text": "mine"})
        await store.commit(replace(beginning(lease, session=other), facts=(theirs,)))
        keys = ShardKeys(SHARD)
        async with raw(socket) as client:
            (_, stolen), *_ = await client.xrange(keys.tape(session_tape(SESSION)))
            await client.delete(keys.tape(agent_tape(other, "1000")))
            await client.xadd(keys.tape(agent_tape(other, "1000")), stolen, id="1-0")
        (fact,) = [fact async for fact in store.read_session(other)]
        assert fact.kind == UNREADABLE
        assert "moved" in fact.data["locked"]


async def test_a_fork_reads_its_parents_facts_and_keeps_them_when_the_parent_goes(socket: Path) -> None:
    async with opened(socket, NEW) as connection:
        store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
        leases = RedisLeaseStore(connection)
        await store.commit(replace(beginning(await shard_lease(leases)), facts=facts(1, SECRET, LONG), awake=False))
        await store.commit(going_on(await shard_lease(leases, shard=shard_of(HALL.key))))
        before = [(fact.seq, fact.data) async for fact in store.read_session(FORK)]
        assert await catalog.delete(SESSION)
        assert [(fact.seq, fact.data) async for fact in store.read_session(FORK)] == before
        assert SECRET not in repr(await dump(socket))


async def test_only_the_conversations_that_are_named_are_encrypted(socket: Path) -> None:
    some = ContentEncryption([FIRST], ["web:*"])
    async with opened(socket, some) as connection:
        await filled(connection)
        assert (await contents(connection))[0][0].data["text"] == SECRET
        found = await dump(socket)
        told = {key.split(":")[2] for key, value in found.items() if SECRET in repr(value)}
        assert told == {"tape", "snapshot", "inbox", "dead", "value", "tax}"}
        store = RedisSessionStore(connection)
        lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(HALL.key))
        fact = Fact(agent_tape(FORK, "1000"), 1, "said", T0, {"text": "azalea"})
        await store.commit(Commit(lease, FORK, 0, facts=(fact,), begin=SessionRecord(FORK, HALL, "hello", T0, 0)))
        await RedisSessionStore(connection).commit(Commit(lease, FORK, 1, facts=(replace(fact, seq=2),)))
        assert "azalea" not in repr(await dump(socket))


async def test_what_is_said_in_a_place_is_encrypted_by_the_rule_of_its_home(socket: Path) -> None:
    home, place = Address("web", "board"), Address("web", "the-boat")
    async with opened(socket, ContentEncryption([FIRST], [home.key])) as connection:
        inbox, places = RedisInbox(connection), RedisPlaceStore(connection)
        await places.put(place, HeldPlace(home, SESSION, "100"))
        await inbox.add(replace(event("1"), address=home, place=place, text=SECRET))
        assert SECRET not in repr(await dump(socket))
        [entry] = await inbox.read({shard_of(home.key): "0"}, wait_s=0)
        assert (entry.event.text, entry.event.place) == (SECRET, place)
        await inbox.add(replace(event("2"), address=place, text="azalea"))
        assert "azalea" in repr(await dump(socket))


async def test_a_locked_session_keeps_the_files_that_it_may_need_and_can_be_deleted(socket: Path) -> None:
    other = SessionId("s2")
    async with opened(socket, OLD) as connection:
        await filled(connection)
        (file,) = await file_ids(connection)
    async with opened(socket, NEW) as connection:
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        theirs = Fact(agent_tape(other, "1000"), 1, "said", T0, {"files": f"{FILE_URL}{file}"})
        await store.commit(replace(beginning(lease, session=other), facts=(theirs,), awake=False))
    async with opened(socket, ContentEncryption([SECOND])) as connection:
        assert await erasure(connection).sessions([other], force=True) == 1
        assert await file_ids(connection) == [file]
        assert await erasure(connection).sessions([SESSION], force=True) == 1
        assert [fact async for fact in RedisSessionStore(connection).read_session(SESSION)] == []


class BrokenOff(RedisConnection):
    """Lets so many scripts through, and then no more."""

    left = 0

    async def run(self, script: RedisScript, *arguments: Any, **options: Any) -> Any:
        if self.left == 0:
            raise StorageUnavailable("broken off")
        self.left -= 1
        return await super().run(script, *arguments, **options)


async def test_a_change_of_keys_that_is_broken_off_anywhere_loses_nothing(socket: Path) -> None:
    async with opened(socket, OLD) as connection:
        await filled(connection)
        before = await contents(connection)
    done, number = False, 0
    while not done:
        async with opened(socket, NEW) as connection:
            broken = BrokenOff(connection._location, connection._tasks, sealing=NEW)
            broken.left, number = number, number + 3
            try:
                await DatabaseRekeying(broken, "web").run()
                done = True
            except StorageUnavailable:
                pass
            await broken.aclose()
            assert await contents(connection) == before
    assert number > 9
    async with opened(socket, NEW) as connection:
        survey = await DatabaseRekeying(connection, "web").survey()
    assert set(survey) <= {SECOND.id, ""}
    async with opened(socket, ContentEncryption([SECOND])) as connection:
        assert await contents(connection) == before


@pytest.mark.parametrize("setup", ["cluster", "sentinel"])
async def test_keys_change_wherever_the_content_is(setup: str, request: pytest.FixtureRequest) -> None:
    location = location_of(setup, request)
    async with open_connection(location, patience_s=20, sealing=OLD) as connection:
        await filled(connection)
        before = await contents(connection)
    async with open_connection(location, patience_s=20, sealing=NEW) as connection:
        await DatabaseRekeying(connection, "web").run()
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}
    async with open_connection(location, patience_s=20, sealing=ContentEncryption([SECOND])) as connection:
        assert await contents(connection) == before


async def test_a_schedule_is_in_no_key_and_no_value_and_its_key_changes_with_the_others(socket: Path) -> None:
    asked = replace(event("e", text="feed the secret cat"), kind=SCHEDULE)
    async with opened(socket, OLD) as connection:
        lease = await shard_lease(RedisLeaseStore(connection))
        await RedisSchedules(connection).add(lease, asked, 50.0, bound=5)
        key = ShardKeys(lease.shard).schedules(asked.address.key)
        kept = str(await connection.ask("HGET", key, "1"))
    assert "cat" not in kept
    async with opened(socket, NEW) as connection:
        assert await DatabaseRekeying(connection, "web").run() == 1
    async with opened(socket, ContentEncryption([SECOND])) as connection:
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}
        assert [one.event for one in await RedisSchedules(connection).all(asked.address)] == [asked]
    async with opened(socket, PLAIN) as connection:
        (locked,) = await RedisSchedules(connection).due(lease.shard, 100.0, 5)
        assert locked.event.kind == LOCKED


async def test_what_is_written_while_keys_change_is_kept(socket: Path) -> None:
    async with opened(socket, OLD) as connection:
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        await store.commit(replace(beginning(lease), facts=facts(1, *("x" * 10 for _ in range(300)))))

        class Meanwhile(RedisConnection):
            told = False

            async def run(self, script: RedisScript, *arguments: Any, **options: Any) -> Any:
                answer = await super().run(script, *arguments, **options)
                if not Meanwhile.told:
                    Meanwhile.told = True
                    await store.commit(Commit(lease, SESSION, 300, facts=facts(301, SECRET, "last")))
                return answer

        other = Meanwhile(connection._location, connection._tasks, sealing=NEW)
        await DatabaseRekeying(other, "web").run()
        await other.aclose()
        assert Meanwhile.told
    async with opened(socket, NEW) as connection:
        found = [fact.seq async for fact in RedisSessionStore(connection).read_session(SESSION)]
        assert found == list(range(1, 303))
        await DatabaseRekeying(connection, "web").run()
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}


async def test_keys_are_counted_and_those_that_are_missing_named(socket: Path) -> None:
    async with opened(socket, PLAIN) as connection:
        await RedisInbox(connection).add(event("plain"))
    async with opened(socket, OLD) as connection:
        await filled(connection)
    async with opened(socket, ContentEncryption([THIRD])) as connection:
        rekeying, before = DatabaseRekeying(connection, "web"), await dump(socket)
        survey = await rekeying.survey()
        assert survey[FIRST.id] > 8
        assert await rekeying.run() == 1
        assert (await rekeying.survey())[FIRST.id] == survey[FIRST.id]
        changed = {key for key, value in (await dump(socket)).items() if before.get(key) != value}
        assert changed == {ShardKeys(SHARD).inbox}


async def test_archive_has_no_word_of_it_and_gives_it_back(socket: Path, tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    async with opened(socket, OLD) as connection, open_sqlite(path, OLD) as archive:
        store, catalog = RedisSessionStore(connection, archive), RedisSessionCatalog(connection, archive)
        lease = await shard_lease(RedisLeaseStore(connection))
        await store.commit(replace(beginning(lease), facts=facts(1, SECRET, LONG), awake=False))
        before = [fact async for fact in store.read_session(SESSION)]
        assert await catalog.put_away(SESSION)
        assert SECRET not in repr(await dump(socket))
        with sqlite3.connect(path) as database:
            ((content,),) = database.execute("SELECT content FROM sessions").fetchall()
        assert content.startswith(f"sealed:{FIRST.id}:".encode())
        async with open_sqlite(path, ContentEncryption([SECOND])) as other:
            with pytest.raises(ContentLocked, match=FIRST.id):
                await other.get(SESSION)
            locked = RedisSessionStore(connection, other)
            with pytest.raises(ContentLocked, match=FIRST.id):
                await locked.current(SHARD, HERE.key)
        assert [fact async for fact in store.read_session(SESSION)] == before
        with pytest.raises(ArchiveUnavailable):
            await catalog._cold.whole(SessionId("nobody"))
