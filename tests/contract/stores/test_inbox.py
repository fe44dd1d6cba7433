"""The contract of every Inbox."""

from __future__ import annotations

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.errors import InboxFull, LeaseLost
from runtime.stores.inbox import shard_of
from tests.contract.conftest import BOUND, Stores
from tests.contract.storage_samples import HERE, NODE, SHARD, beginning, event, shard_lease

pytestmark = pytest.mark.anyio

ELSEWHERE = next(address for address in (Address("web", str(n)) for n in range(100)) if shard_of(address.key) != SHARD)


async def test_events_come_back_whole_and_in_order(stores: Stores) -> None:
    for name in ("1", "2", "3"):
        assert await stores.inbox.add(event(name))
    entries = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    assert [entry.event for entry in entries] == [event("1"), event("2"), event("3")]
    assert {entry.shard for entry in entries} == {SHARD}


async def test_an_event_is_taken_in_once(stores: Stores) -> None:
    assert await stores.inbox.add(event("1"))
    assert not await stores.inbox.add(event("1", text="again"))
    assert len(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == 1


async def test_the_same_id_in_another_conversation_is_another_event(stores: Stores) -> None:
    assert await stores.inbox.add(event("1"))
    assert await stores.inbox.add(event("1", address=ELSEWHERE))


async def test_reading_takes_nothing_out_and_goes_on_behind_an_entry(stores: Stores) -> None:
    for name in ("1", "2"):
        await stores.inbox.add(event(name))
    first, second = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == [first, second]
    assert list(await stores.inbox.read({SHARD: first.entry_id}, wait_s=1)) == [second]


async def test_several_shards_are_read_together_and_others_are_not(stores: Stores) -> None:
    other = shard_of(ELSEWHERE.key)
    await stores.inbox.add(event("1"))
    await stores.inbox.add(event("2", address=ELSEWHERE))
    after, found = {SHARD: "0", other: "0"}, list[tuple[int, str]]()
    while len(found) < 2:
        for entry in await stores.inbox.read(after, wait_s=60):
            after[entry.shard] = entry.entry_id
            found.append((entry.shard, entry.event.id))
    assert sorted(found) == sorted([(SHARD, "1"), (other, "2")])
    assert [entry.shard for entry in await stores.inbox.read({other: "0"}, wait_s=1)] == [other]


async def test_reading_without_news_ends_empty(stores: Stores) -> None:
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)) == []


async def test_what_was_taken_or_put_aside_waits_no_longer(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    for name in ("1", "2", "3"):
        await stores.inbox.add(event(name))
    taken, aside, left = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.sessions.commit(beginning(lease, consume=(taken.entry_id,)))
    await stores.inbox.discard(aside, lease.token, reason="nobody takes it")
    assert list(await stores.inbox.still_waiting([taken, aside, left])) == [left]
    assert list(await stores.inbox.still_waiting([])) == []


async def test_a_waiting_reader_is_woken(stores: Stores) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stores.inbox.add, event("1"))
        entries = await stores.inbox.read({SHARD: "0"}, wait_s=60)
    assert [entry.event.id for entry in entries] == ["1"]


async def test_a_cancelled_reader_loses_nothing(stores: Stores) -> None:
    for _ in range(3):
        with anyio.move_on_after(0.02) as scope:
            await stores.inbox.read({SHARD: "0"}, wait_s=60)
        assert scope.cancelled_caught
    await stores.inbox.add(event("1"))
    assert len(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == 1


async def test_a_full_shard_refuses_and_forgets_nothing(stores: Stores) -> None:
    for number in range(BOUND):
        await stores.inbox.add(event(str(number)))
    with pytest.raises(InboxFull, match=str(BOUND)):
        await stores.inbox.add(event("one too many"))
    assert not await stores.inbox.add(event("0"))
    entries = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    assert len(entries) == BOUND
    await stores.inbox.discard(entries[0], (await shard_lease(stores.leases)).token, reason="test")
    assert await stores.inbox.add(event("one too many"))


async def test_a_discarded_entry_is_gone_for_good(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.inbox.discard(entry, lease.token, reason="failed 5 times")
    await stores.inbox.discard(entry, lease.token, reason="failed 5 times")
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)) == []
    assert not await stores.inbox.add(event("1"))


async def test_a_dismissed_entry_is_gone_for_good_and_no_dead_letter(stores: Stores) -> None:
    lease = await shard_lease(stores.leases)
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    await stores.inbox.dismiss(entry, lease.token)
    await stores.inbox.dismiss(entry, lease.token)
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=0.01)) == []
    assert not await stores.inbox.add(event("1"))
    assert list(await stores.letters.page(limit=10)) == []


async def test_a_stale_token_discards_nothing(stores: Stores) -> None:
    stale = await shard_lease(stores.leases)
    await stores.leases.acquire(f"shard:{SHARD}", NODE)
    await stores.inbox.add(event("1"))
    (entry,) = await stores.inbox.read({SHARD: "0"}, wait_s=1)
    with pytest.raises(LeaseLost):
        await stores.inbox.discard(entry, stale.token, reason="test")
    assert list(await stores.inbox.read({SHARD: "0"}, wait_s=1)) == [entry]


def test_a_conversation_stays_in_its_shard() -> None:
    assert shard_of("telegram:42#7") == shard_of(HERE.key) == SHARD
