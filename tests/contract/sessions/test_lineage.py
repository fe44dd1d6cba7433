"""The contract of every store with sessions that go on from others."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import LeaseLost, SessionBusy, TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.tape import Fact, TapeBranch, agent_tape, session_tape, tape_in
from tests.contract.conftest import Stores
from tests.contract.storage_samples import HERE, NODE, SESSION, SHARD, T0, beginning, facts, shard_lease

pytestmark = pytest.mark.anyio

CHILD, GRANDCHILD = SessionId("s2"), SessionId("s3")
ELSEWHERE = next(a for a in (Address("web", str(n)) for n in range(100)) if shard_of(a.key) != SHARD)


def facts_of(session: SessionId, first: int, *texts: str) -> tuple[Fact, ...]:
    return tuple(replace(fact, tape=tape_in(fact.tape, session)) for fact in facts(first, *texts))


def going_on(
    lease: Lease, parent: TapeBranch, *texts: str, session: SessionId = CHILD, at: Address = ELSEWHERE
) -> Commit:
    record = SessionRecord(session, at, "hello", T0, parent.seq, parent=parent)
    new = facts_of(session, parent.seq + 1, *texts)
    return Commit(lease, session, parent.seq, facts=new, begin=record, awake=True)


async def texts_of(stores: Stores, session: SessionId, after: int = 0, until: int | None = None) -> list[str]:
    read = stores.sessions.read_session(session, after=after, until=until)
    return [fact.data["text"] async for fact in read]


async def forked(stores: Stores, at: Address = ELSEWHERE) -> Lease:
    """A session of four facts, and one that goes on from its second with one of its own; the lease of that one."""
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one", "two", "three", "four")))
    theirs = lease if at is HERE else await shard_lease(stores.leases, NODE, shard_of(at.key))
    await stores.sessions.commit(going_on(theirs, TapeBranch(SESSION, 2), "other", at=at))
    return theirs


@pytest.mark.parametrize("at", [HERE, ELSEWHERE], ids=["the same shard", "another shard"])
async def test_a_fork_has_the_facts_up_to_its_branch_and_its_own(stores: Stores, at: Address) -> None:
    await forked(stores, at)
    assert await texts_of(stores, CHILD) == ["one", "two", "other"]
    assert await texts_of(stores, SESSION) == ["one", "two", "three", "four"]
    assert [fact async for fact in stores.sessions.read_session(CHILD)][:2] == list(facts_of(CHILD, 1, "one", "two"))
    record = await stores.sessions.session(shard_of(at.key), CHILD)
    assert record == SessionRecord(CHILD, at, "hello", T0, 3, parent=TapeBranch(SESSION, 2))
    assert await stores.sessions.current(shard_of(at.key), at.key) == record


async def test_a_range_is_read_through_the_branch(stores: Stores) -> None:
    await forked(stores)
    assert await texts_of(stores, CHILD, after=1) == ["two", "other"]
    assert await texts_of(stores, CHILD, after=2) == ["other"]
    assert await texts_of(stores, CHILD, after=1, until=2) == ["two"]
    assert await texts_of(stores, CHILD, until=1) == ["one"]
    assert await texts_of(stores, CHILD, after=3) == []
    assert await texts_of(stores, SESSION, after=1, until=3) == ["two", "three"]


async def test_one_tape_is_read_through_the_branch(stores: Stores) -> None:
    await forked(stores)
    tape = session_tape(CHILD)
    read = [(fact.tape, fact.seq) async for fact in stores.sessions.read_tape(tape)]
    assert read == [(tape, 1), (tape, 3)]
    tape = agent_tape(CHILD, "1000")
    assert [(fact.tape, fact.seq) async for fact in stores.sessions.read_tape(tape)] == [(tape, 2)]
    assert [fact.seq async for fact in stores.sessions.read_tape(session_tape(CHILD), after=1)] == [3]


async def test_a_fork_and_what_it_goes_on_from_grow_apart(stores: Stores) -> None:
    lease = await forked(stores)
    await stores.sessions.commit(Commit(lease, CHILD, 3, facts=facts_of(CHILD, 4, "more")))
    ours = await shard_lease(stores.leases)
    await stores.sessions.commit(Commit(ours, SESSION, 4, facts=facts(5, "five")))
    assert await texts_of(stores, CHILD) == ["one", "two", "other", "more"]
    assert await texts_of(stores, SESSION, after=4) == ["five"]


async def test_forks_of_forks_are_read_through_all_of_them(stores: Stores) -> None:
    lease = await forked(stores)
    await stores.sessions.commit(going_on(lease, TapeBranch(CHILD, 3), "third", session=GRANDCHILD))
    early = SessionId("s4")
    await stores.sessions.commit(going_on(lease, TapeBranch(CHILD, 1), "early", session=early))
    assert await texts_of(stores, GRANDCHILD) == ["one", "two", "other", "third"]
    assert await texts_of(stores, early) == ["one", "early"]


async def test_a_fork_without_facts_of_its_own_ends_at_its_branch(stores: Stores) -> None:
    await forked(stores)
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(going_on(lease, TapeBranch(SESSION, 3), session=GRANDCHILD, at=HERE))
    record = await stores.sessions.session(SHARD, GRANDCHILD)
    assert record is not None
    assert record.seq == 3
    assert await texts_of(stores, GRANDCHILD) == ["one", "two", "three"]


@pytest.mark.parametrize("parent", [TapeBranch(SESSION, 5), TapeBranch(SessionId("nobody"), 1)])
async def test_a_fork_from_facts_that_are_not_there_is_refused(stores: Stores, parent: TapeBranch) -> None:
    await forked(stores)
    lease = await shard_lease(stores.leases)
    with pytest.raises(TapeConflict, match="cannot continue"):
        await stores.sessions.commit(going_on(lease, parent, "x", session=GRANDCHILD, at=HERE))
    assert await stores.sessions.session(SHARD, GRANDCHILD) is None


async def test_a_fork_that_does_not_go_on_at_its_branch_is_refused(stores: Stores) -> None:
    await forked(stores)
    lease = await shard_lease(stores.leases)
    wrong = replace(going_on(lease, TapeBranch(SESSION, 2), session=GRANDCHILD, at=HERE), expect=1)
    with pytest.raises(TapeConflict):
        await stores.sessions.commit(wrong)


async def test_a_replaced_session_ends_and_has_no_work_any_more(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    old = replace(beginning(lease), facts=facts(1, "one", "two"), outbox_add=("p1", "p2"))
    await stores.sessions.commit(old)
    undo = replace(going_on(lease, TapeBranch(SESSION, 1), "again", at=HERE), replaces=SESSION, outbox_add=("p1",))
    await stores.sessions.commit(undo)
    await stores.sessions.commit(undo)
    replaced = await stores.sessions.session(SHARD, SESSION)
    assert replaced == SessionRecord(SESSION, HERE, "hello", T0, 2, ended=True, replaced_by=CHILD)
    current = await stores.sessions.current(SHARD, HERE.key)
    assert current is not None
    assert (current.id, current.parent) == (CHILD, TapeBranch(SESSION, 1))
    assert await stores.sessions.unfinished(SHARD) == {CHILD: {"p1"}}
    assert await texts_of(stores, SESSION) == ["one", "two"]
    assert await texts_of(stores, CHILD) == ["one", "again"]


async def test_a_replaced_session_takes_nothing_more(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one")))
    await stores.sessions.commit(replace(going_on(lease, TapeBranch(SESSION, 1), at=HERE), replaces=SESSION))
    with pytest.raises(TapeConflict, match="replaced"):
        await stores.sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "two"), awake=True))
    assert await stores.sessions.unfinished(SHARD) == {CHILD: frozenset()}


async def test_only_a_session_of_the_same_conversation_is_replaced(stores: Stores) -> None:
    lease = await forked(stores)
    for other in (SESSION, SessionId("nobody")):
        with pytest.raises(TapeConflict, match="not of its conversation"):
            await stores.sessions.commit(
                replace(going_on(lease, TapeBranch(CHILD, 1), session=GRANDCHILD), replaces=other)
            )
    kept = await stores.sessions.session(SHARD, SESSION)
    assert kept is not None
    assert not kept.ended


@pytest.mark.parametrize("at", [HERE, ELSEWHERE], ids=["the same shard", "another shard"])
async def test_forks_of_a_deleted_session_keep_what_they_have(stores: Stores, at: Address) -> None:
    lease = await forked(stores, at)
    await stores.sessions.commit(going_on(lease, TapeBranch(CHILD, 3), "third", session=GRANDCHILD, at=at))
    assert await stores.catalog.delete(SESSION, force=True)
    assert await texts_of(stores, SESSION) == []
    assert await texts_of(stores, CHILD) == ["one", "two", "other"]
    assert await texts_of(stores, GRANDCHILD) == ["one", "two", "other", "third"]
    record = await stores.sessions.session(shard_of(at.key), CHILD)
    assert record is not None
    assert record.parent is None
    await stores.sessions.commit(Commit(lease, CHILD, 3, facts=facts_of(CHILD, 4, "more")))
    assert [fact.seq async for fact in stores.sessions.read_tape(session_tape(CHILD))] == [1, 3]
    assert await stores.catalog.delete(CHILD, force=True)
    assert await texts_of(stores, GRANDCHILD) == ["one", "two", "other", "third"]
    assert await stores.catalog.delete(GRANDCHILD, force=True)
    assert [known async for known in stores.catalog.sessions()] == []


async def test_deleting_a_fork_leaves_what_it_went_on_from(stores: Stores) -> None:
    await forked(stores)
    assert await stores.catalog.delete(CHILD, force=True)
    assert await texts_of(stores, SESSION) == ["one", "two", "three", "four"]
    assert await stores.catalog.delete(SESSION, force=True)


async def test_a_session_that_a_fork_reads_while_it_is_deleted_is_read_to_the_end(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, *map(str, range(1200)))))
    await stores.sessions.commit(going_on(lease, TapeBranch(SESSION, 1200), "own", at=HERE))
    read = []
    async for fact in stores.sessions.read_session(CHILD):
        read.append(fact.data["text"])
        if len(read) == 10:
            assert await stores.catalog.delete(SESSION, force=True)
    assert read == [*map(str, range(1200)), "own"]


async def test_an_exported_fork_has_all_its_facts_and_comes_back_whole(stores: Stores) -> None:
    await forked(stores)
    whole = await stores.catalog.whole(CHILD)
    assert whole is not None
    assert [fact.data["text"] for fact in whole.facts] == ["one", "two", "other"]
    assert {fact.tape for fact in whole.facts} == {session_tape(CHILD), agent_tape(CHILD, "1000")}
    await stores.catalog.delete(CHILD, force=True)
    await stores.catalog.delete(SESSION, force=True)
    await stores.catalog.insert(whole)
    again = await stores.catalog.whole(CHILD)
    assert again == replace(whole, record=dataclasses.replace(whole.record, parent=None))


async def test_a_session_with_forks_is_put_in_anew(stores: Stores) -> None:
    await forked(stores)
    whole = await stores.catalog.whole(SESSION)
    assert whole is not None
    assert await stores.catalog.delete(SESSION, force=True)
    await stores.catalog.insert(whole)
    assert await texts_of(stores, SESSION) == ["one", "two", "three", "four"]
    assert await texts_of(stores, CHILD) == ["one", "two", "other"]


async def test_a_busy_session_is_not_deleted_and_its_forks_stay_as_they_are(stores: Stores) -> None:
    await forked(stores)
    with pytest.raises(SessionBusy):
        await stores.catalog.delete(SESSION)
    record = await stores.sessions.session(shard_of(ELSEWHERE.key), CHILD)
    assert record is not None
    assert record.parent == TapeBranch(SESSION, 2)


async def test_a_session_from_which_another_is_about_to_go_on_is_not_deleted(
    valkey_socket: Path, anyio_backend: str
) -> None:
    """Its fork is noted first, and begins then: what is in between on one node is not seen by the other."""
    async with open_connection(valkey_socket, patience_s=20) as connection:
        leases, store = RedisLeaseStore(connection), RedisSessionStore(connection)
        catalog = RedisSessionCatalog(connection)
        lease = await shard_lease(leases)
        await store.commit(replace(beginning(lease), facts=facts(1, "one", "two"), awake=False))
        refused = replace(going_on(lease, TapeBranch(SESSION, 2), at=HERE), lease=replace(lease, token=lease.token + 1))
        with pytest.raises(LeaseLost):
            await store.commit(refused)
        with pytest.raises(SessionBusy, match="s2 is about to continue s1"):
            await catalog.delete(SESSION)
        assert [fact.seq async for fact in store.read_session(SESSION)] == [1, 2]
        assert await catalog.delete(SESSION, force=True)
        with pytest.raises(TapeConflict, match="cannot continue"):
            await store.commit(going_on(lease, TapeBranch(SESSION, 2), at=HERE))
