"""The contract of every SessionStore."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.core.errors import LeaseLost, TapeConflict
from runtime.core.ids import SessionId
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.tape import agent_tape
from tests.contract.conftest import Stores
from tests.contract.storage_samples import HERE, NODE, SESSION, SHARD, T0, beginning, event, facts, shard_lease

pytestmark = pytest.mark.anyio


async def everything(stores: Stores) -> tuple[object, ...]:
    """All that can be seen of the session and its inbox."""
    return (
        await stores.sessions.session(SHARD, SESSION),
        await stores.sessions.current(SHARD, HERE.key),
        dict(await stores.sessions.unfinished(SHARD)),
        [fact async for fact in stores.sessions.read_session(SESSION)],
        list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)),
    )


async def test_a_session_begins_as_its_conversations_current_one(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    assert await stores.sessions.current(SHARD, HERE.key) is None
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one", "two")))
    expected = SessionRecord(SESSION, HERE, "hello", T0, seq=2, ended=False)
    assert await stores.sessions.current(SHARD, HERE.key) == expected
    assert await stores.sessions.session(SHARD, SESSION) == expected


async def test_an_event_is_taken_by_one_commit(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.sessions.commit(beginning(lease, consume=(entry.entry_id,)))
    again = Commit(lease, SESSION, 0, facts=facts(1, "one"), consume=(entry.entry_id,))
    with pytest.raises(TapeConflict, match="no longer in the inbox"):
        await stores.sessions.commit(again)
    assert [fact async for fact in stores.sessions.read_session(SESSION)] == []


async def test_facts_come_back_in_one_order_over_all_tapes(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one", "Grüße 👋", "three")))
    await stores.sessions.commit(Commit(lease, SESSION, 3, facts=facts(4, "four", "five")))
    expected = [*facts(1, "one", "Grüße 👋", "three"), *facts(4, "four", "five")]
    assert [fact async for fact in stores.sessions.read_session(SESSION)] == expected
    assert [fact async for fact in stores.sessions.read_session(SESSION, after=3)] == expected[3:]
    tape = agent_tape(SESSION, "1000")
    assert [fact.seq async for fact in stores.sessions.read_tape(tape)] == [2, 4]
    assert [fact.seq async for fact in stores.sessions.read_tape(tape, after=2)] == [4]


async def test_a_long_tape_is_read_to_its_end(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, *["text"] * 1203)))
    assert [fact.seq async for fact in stores.sessions.read_session(SESSION)] == list(range(1, 1204))


async def test_an_unknown_session_has_nothing(stores: Stores) -> None:
    assert await stores.sessions.session(SHARD, SESSION) is None
    assert [fact async for fact in stores.sessions.read_session(SESSION)] == []
    assert [fact async for fact in stores.sessions.read_tape(agent_tape(SESSION, "1000"))] == []
    assert dict(await stores.sessions.unfinished(SHARD)) == {}


async def test_a_commit_takes_its_events_out_of_the_inbox(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.inbox.add(event("1"))
    await stores.inbox.add(event("2"))
    first, second = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.sessions.commit(beginning(lease, consume=(first.entry_id,)))
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == [second]


async def test_unfinished_are_sessions_awake_or_with_pages(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    other = SessionId("s2")
    await stores.sessions.commit(replace(beginning(lease), outbox_add=("p1", "p2")))
    await stores.sessions.commit(beginning(lease, session=other))
    assert await stores.sessions.unfinished(SHARD) == {SESSION: {"p1", "p2"}, other: frozenset()}
    await stores.sessions.commit(Commit(lease, SESSION, 0, outbox_done=("p1",), awake=False))
    assert await stores.sessions.unfinished(SHARD) == {SESSION: {"p2"}, other: frozenset()}
    await stores.sessions.commit(Commit(lease, SESSION, 0, outbox_done=("p2",)))
    await stores.sessions.commit(Commit(lease, other, 0, awake=False))
    assert await stores.sessions.unfinished(SHARD) == {}


async def test_an_ended_session_releases_its_conversation(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(beginning(lease))
    await stores.sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "bye"), end=True))
    assert await stores.sessions.current(SHARD, HERE.key) is None
    ended = await stores.sessions.session(SHARD, SESSION)
    assert ended is not None
    assert (ended.ended, ended.seq) == (True, 1)


async def test_ending_an_older_session_leaves_the_current_one(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(beginning(lease))
    await stores.sessions.commit(beginning(lease, session=SessionId("s2")))
    await stores.sessions.commit(Commit(lease, SESSION, 0, end=True))
    current = await stores.sessions.current(SHARD, HERE.key)
    assert current is not None
    assert current.id == "s2"


async def test_a_repeated_commit_changes_nothing_and_succeeds(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    first = replace(beginning(lease), facts=facts(1, "one"), outbox_add=("p1",))
    await stores.sessions.commit(first)
    before = await everything(stores)
    await stores.sessions.commit(first)
    assert await everything(stores) == before


async def test_another_commit_at_the_same_place_is_a_conflict(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one")))
    before = await everything(stores)
    with pytest.raises(TapeConflict) as caught:
        await stores.sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "two"), outbox_add=("p",)))
    assert (caught.value.expected, caught.value.actual) == (0, 1)
    assert await everything(stores) == before


async def test_facts_with_a_gap_are_a_conflict(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    with pytest.raises(TapeConflict):
        await stores.sessions.commit(replace(beginning(lease), facts=facts(2, "two")))
    assert await stores.sessions.session(SHARD, SESSION) is None


async def test_a_session_that_has_not_begun_takes_no_commit(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    with pytest.raises(TapeConflict):
        await stores.sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "one"), awake=True))
    assert await everything(stores) == (None, None, {}, [], [])


async def test_a_stale_token_changes_nothing_at_all(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, "one"), outbox_add=("p1",)))
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    before = await everything(stores)
    await stores.leases.acquire(f"shard:{SHARD}", NODE)
    with pytest.raises(LeaseLost):
        await stores.sessions.commit(
            Commit(
                lease,
                SESSION,
                1,
                facts=facts(2, "two"),
                consume=(entry.entry_id,),
                outbox_add=("p2",),
                outbox_done=("p1",),
                awake=False,
                end=True,
            )
        )
    with pytest.raises(LeaseLost):
        await stores.sessions.commit(beginning(lease, session=SessionId("s2")))
    assert await everything(stores) == before


async def test_a_token_that_was_never_given_changes_nothing(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    with pytest.raises(LeaseLost):
        await stores.sessions.commit(beginning(replace(lease, token=lease.token + 1)))
    assert await everything(stores) == (None, None, {}, [], [])
