"""The contract of every catalogue of sessions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.errors import SessionBusy, SessionExists, TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.fact_form import LARGE_BYTES, write_facts
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeBranch, session_tape, tape_in
from tests.contract.conftest import Stores
from tests.contract.storage_samples import HERE, NODE, SESSION, SHARD, T0, beginning, event, facts, shard_lease

pytestmark = pytest.mark.anyio


async def begun(stores: Stores, *texts: str) -> Lease:
    """A session that is awake, with a page on its way."""
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, *texts), outbox_add=("p1",)))
    return lease


async def rested(stores: Stores, *texts: str) -> Lease:
    """One that waits for its person."""
    lease = await begun(stores, *texts)
    await stores.sessions.commit(Commit(lease, SESSION, len(texts), outbox_done=("p1",), awake=False))
    return lease


async def taken_out(stores: Stores, *texts: str) -> WholeSession:
    await begun(stores, *texts)
    whole = await stores.catalog.whole(SESSION)
    assert whole is not None
    assert await stores.catalog.delete(SESSION, force=True)
    return whole


async def test_every_session_is_listed_once_with_what_it_is_at(stores: Stores) -> None:
    lease = await begun(stores, "one", "two")
    await stores.sessions.commit(Commit(lease, SESSION, 2, end=True, awake=False, outbox_done=("p1",)))
    await stores.sessions.commit(beginning(lease, session=SessionId("s2")))
    found = {known.record.id: known async for known in stores.catalog.sessions()}
    assert {id_: known.state for id_, known in found.items()} == {"s1": "ended", "s2": "working"}
    assert found[SESSION].last_at == facts(1, "one", "two")[1].at
    assert (found[SESSION].record.seq, found[SESSION].node) == (2, NODE.node)
    assert found[SESSION].size_bytes > 0


async def said_in(stores: Stores, lease: Lease, session: str, seq: int) -> None:
    """The session's next fact, at a time that grows with `seq`."""
    id_ = SessionId(session)
    (fact,) = facts(seq, "text")
    new = (replace(fact, tape=tape_in(fact.tape, id_), seq=1),)
    await stores.sessions.commit(replace(beginning(lease, session=id_), facts=new))


async def test_sessions_are_listed_in_pages_the_latest_active_first(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    for number in range(7):
        await said_in(stores, lease, f"s{number}", number + 1)
    assert await stores.catalog.count() == 7
    pages: list[list[SessionId]] = []
    mark = ""
    while not pages or mark:
        page = await stores.catalog.page(mark, limit=3)
        pages.append([known.record.id for known in page.sessions])
        mark = page.next
    assert [page for page in pages if page] == [["s6", "s5", "s4"], ["s3", "s2", "s1"], ["s0"]]


async def test_a_session_that_is_active_again_comes_first(stores: Stores) -> None:
    """Commits of one millisecond stand in the order of their names."""
    lease = await shard_lease(stores.leases)
    for seq, name in enumerate(("s3", "s1", "s2"), start=1):
        await said_in(stores, lease, name, seq)
    (fact,) = facts(9, "text")
    again = (replace(fact, tape=tape_in(fact.tape, SessionId("s3")), seq=2),)
    await stores.sessions.commit(Commit(lease, SessionId("s3"), 1, facts=again))
    page = await stores.catalog.page(limit=9)
    assert [known.record.id for known in page.sessions] == ["s3", "s2", "s1"]
    assert page.next == ""


async def test_what_was_deleted_is_not_listed_and_what_was_taken_in_is(stores: Stores) -> None:
    whole = await taken_out(stores, "one")
    assert await stores.catalog.count() == 0
    assert not (await stores.catalog.page(limit=9)).sessions
    await stores.catalog.insert(whole)
    assert await stores.catalog.count() == 1
    assert [known.record for known in (await stores.catalog.page(limit=9)).sessions] == [whole.record]


async def test_a_session_is_found_by_its_id(stores: Stores) -> None:
    lease = await rested(stores, "one")
    found = await stores.catalog.find(SESSION)
    assert found is not None
    assert (found.record.address, found.state, found.busy) == (HERE, "resting", False)
    assert await stores.catalog.find(SessionId("nobody")) is None
    await stores.leases.release(f"shard:{SHARD}", NODE, lease.token)
    unserved = await stores.catalog.find(SESSION)
    assert unserved is not None
    assert unserved.node is None


async def test_a_deleted_session_leaves_nothing(stores: Stores) -> None:
    await rested(stores, "one", "two")
    assert await stores.catalog.delete(SESSION)
    assert await stores.sessions.session(SHARD, SESSION) is None
    assert await stores.sessions.current(SHARD, HERE.key) is None
    assert await stores.sessions.unfinished(SHARD) == {}
    assert [fact async for fact in stores.sessions.read_session(SESSION)] == []
    assert [known async for known in stores.catalog.sessions()] == []
    assert not await stores.catalog.delete(SESSION)


async def test_a_session_that_a_node_works_on_is_deleted_only_by_force(stores: Stores) -> None:
    await begun(stores, "one")
    with pytest.raises(SessionBusy, match=r"s1 is active on node-a"):
        await stores.catalog.delete(SESSION)
    assert await stores.catalog.find(SESSION) is not None
    assert await stores.catalog.delete(SESSION, force=True)


async def test_a_working_session_that_no_node_serves_is_deleted(stores: Stores) -> None:
    lease = await begun(stores, "one")
    await stores.leases.release(f"shard:{SHARD}", NODE, lease.token)
    assert await stores.catalog.delete(SESSION)


async def test_a_deleted_session_does_not_come_back_by_a_commit_of_its_node(stores: Stores) -> None:
    lease = await rested(stores, "one")
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.catalog.delete(SESSION)
    with pytest.raises(TapeConflict):
        await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two"), consume=(entry.entry_id,)))
    assert await stores.catalog.find(SESSION) is None
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == [entry]


async def test_deleting_an_older_session_leaves_the_current_one(stores: Stores) -> None:
    lease = await rested(stores, "one")
    await stores.sessions.commit(beginning(lease, session=SessionId("s2")))
    await stores.catalog.delete(SESSION)
    current = await stores.sessions.current(SHARD, HERE.key)
    assert current is not None
    assert current.id == "s2"


async def test_a_session_that_is_taken_in_is_as_it_was(stores: Stores) -> None:
    whole = await taken_out(stores, *["text"] * 503)
    await stores.catalog.insert(whole)
    assert await stores.catalog.whole(SESSION) == whole
    assert await stores.sessions.current(SHARD, HERE.key) == whole.record
    assert await stores.sessions.unfinished(SHARD) == {SESSION: {"p1"}}


async def test_a_session_that_was_taken_in_goes_on(stores: Stores) -> None:
    await stores.catalog.insert(await taken_out(stores, "one"))
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two")))
    assert [fact.seq async for fact in stores.sessions.read_session(SESSION)] == [1, 2]


async def test_what_is_there_is_not_overwritten(stores: Stores) -> None:
    whole = await taken_out(stores, "one", "two")
    await begun(stores, "other")
    with pytest.raises(SessionExists, match="s1"):
        await stores.catalog.insert(whole)
    kept = await stores.catalog.whole(SESSION)
    assert kept is not None
    assert [fact.data["text"] for fact in kept.facts] == ["other"]


async def test_a_session_is_replaced_by_what_a_file_has_of_it(stores: Stores) -> None:
    whole = await taken_out(stores, "one", "two")
    await begun(stores, "other")
    await stores.catalog.replace(whole, force=True)
    kept = await stores.catalog.whole(SESSION)
    assert kept is not None
    assert [fact.data["text"] for fact in kept.facts] == ["one", "two"]
    await stores.catalog.replace(whole, force=True)


async def test_who_goes_on_from_what_was_replaced_by_as_many_facts_is_refused(stores: Stores) -> None:
    whole = await taken_out(stores, "one")
    lease = await rested(stores, "other")
    known = await stores.sessions.session(SHARD, SESSION)
    assert known is not None
    await stores.catalog.replace(whole, force=True)
    before = Commit(lease, SESSION, 1, facts=facts(2, "more"), taken_in=known.taken_in)
    with pytest.raises(TapeConflict, match="imported again"):
        await stores.sessions.commit(before)
    anew = await stores.sessions.session(SHARD, SESSION)
    assert anew is not None
    await stores.sessions.commit(replace(before, taken_in=anew.taken_in))
    await stores.sessions.commit(replace(before, taken_in=anew.taken_in))
    await stores.catalog.replace(whole, force=True)
    with pytest.raises(TapeConflict, match="imported again"):
        await stores.sessions.commit(replace(before, facts=facts(2, "and more"), taken_in=anew.taken_in))
    assert [fact.data["text"] async for fact in stores.sessions.read_session(SESSION)] == ["one"]


async def test_a_snapshot_of_what_was_replaced_is_not_kept(stores: Stores) -> None:
    whole = await taken_out(stores, "one")
    lease = await rested(stores, "other")
    known = await stores.sessions.session(SHARD, SESSION)
    assert known is not None
    await stores.catalog.replace(whole, force=True)
    anew = await stores.sessions.session(SHARD, SESSION)
    assert anew is not None
    taken = Snapshot(1, "v1", "a state")
    await stores.sessions.keep_snapshot(lease, SESSION, taken, taken_in=known.taken_in)
    assert await stores.sessions.snapshot(SESSION, "v1") is None
    await stores.sessions.keep_snapshot(lease, SESSION, taken, taken_in=anew.taken_in)
    assert await stores.sessions.snapshot(SESSION, "v1") == taken
    await stores.catalog.replace(whole, force=True)
    await stores.sessions.keep_snapshot(lease, SESSION, taken, taken_in=anew.taken_in)
    assert await stores.sessions.snapshot(SESSION, "v1") is None


async def test_what_stands_in_for_a_session_that_was_taken_in_anew_does_not_begin(stores: Stores) -> None:
    whole = await taken_out(stores, "one", "two")
    lease = await rested(stores, "other", "more")
    known = await stores.sessions.session(SHARD, SESSION)
    assert known is not None
    await stores.catalog.replace(whole, force=True)
    new = dataclasses.replace(whole.record, id=SessionId("s2"), seq=1, parent=TapeBranch(SESSION, 1))
    undo = Commit(lease, new.id, 1, begin=new, replaces=SESSION, awake=False, taken_in=known.taken_in)
    with pytest.raises(TapeConflict, match="s1 was imported again"):
        await stores.sessions.commit(undo)
    anew = await stores.sessions.current(SHARD, HERE.key)
    assert anew is not None
    assert (anew.id, anew.replaced_by) == (SESSION, None)
    await stores.sessions.commit(replace(undo, taken_in=anew.taken_in))
    await stores.sessions.commit(replace(undo, taken_in=anew.taken_in))
    current = await stores.sessions.current(SHARD, HERE.key)
    assert current is not None
    assert current.id == new.id


async def test_a_session_that_cannot_be_replaced_stays(stores: Stores) -> None:
    whole = await taken_out(stores, "one", "two")
    lease = await begun(stores, "other")
    new = dataclasses.replace(whole.record, id=SessionId("s2"), seq=1, parent=TapeBranch(SESSION, 1))
    await stores.sessions.commit(Commit(lease, new.id, 1, begin=new, replaces=SESSION, awake=False))
    with pytest.raises(SessionExists, match="s2"):
        await stores.catalog.replace(whole, force=True)
    kept = await stores.catalog.find(SESSION)
    assert kept is not None
    assert (kept.record.seq, kept.record.replaced_by) == (1, "s2")


async def test_a_conversation_keeps_the_session_that_it_has(stores: Stores) -> None:
    whole = await taken_out(stores, "one")
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(beginning(lease, session=SessionId("s2")))
    with pytest.raises(SessionExists, match="s2"):
        await stores.catalog.insert(whole)
    assert await stores.catalog.find(SESSION) is None
    ended = replace(whole, record=dataclasses.replace(whole.record, ended=True), awake=False, pages=frozenset())
    await stores.catalog.insert(ended)
    current = await stores.sessions.current(SHARD, HERE.key)
    assert current is not None
    assert current.id == "s2"


def weighty(session: SessionId) -> tuple[Fact, ...]:
    """Facts with large values."""
    return tuple(
        Fact(session_tape(session), seq, "said", T0, {"text": letter * (LARGE_BYTES + 1)})
        for seq, letter in enumerate("xy", start=1)
    )


async def facts_kept(socket: Path) -> list[str]:
    """The kinds of the keys that have facts or their values."""
    async with Redis(unix_socket_path=str(socket), decode_responses=True) as client:
        found = [re.search("}:(values?|tapes?|anchors|snapshot):", key) async for key in client.scan_iter()]
    return sorted(match[1] for match in found if match)


async def test_a_session_that_came_too_late_leaves_no_large_values(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def let_pass(_record: SessionRecord) -> None:
        """The conversation's session begins after this."""

    record = SessionRecord(SESSION, HERE, "hello", T0, 2)
    async with open_connection(valkey_socket, patience_s=20) as connection:
        catalog = RedisSessionCatalog(connection)
        lease = await shard_lease(RedisLeaseStore(connection))
        await RedisSessionStore(connection).commit(beginning(lease, session=SessionId("s2")))
        monkeypatch.setattr(catalog, "_refuse_taken", let_pass)
        with pytest.raises(SessionExists, match="s2"):
            await catalog.insert(WholeSession(record, False, frozenset(), weighty(SESSION)))
        await catalog.delete(SessionId("s2"), force=True)
    assert await facts_kept(valkey_socket) == []


async def test_what_a_broken_off_insertion_left_is_not_counted_any_more(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        catalog, keys = RedisSessionCatalog(connection), ShardKeys(SHARD)
        first, second = weighty(SESSION)
        await write_facts(SessionPlaces(connection), _each(first, second), SESSION, keys, keys.tape)
        await catalog.insert(WholeSession(SessionRecord(SESSION, HERE, "hello", T0, 1), False, frozenset(), [first]))
        assert [fact async for fact in RedisSessionStore(connection).read_session(SESSION)] == [first]
        assert (await facts_kept(valkey_socket)).count("value") == 1
        assert await catalog.delete(SESSION)
    assert await facts_kept(valkey_socket) == []


async def _each(*facts: Fact) -> AsyncIterator[Fact]:
    for fact in facts:
        yield fact
