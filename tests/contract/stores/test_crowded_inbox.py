"""What every Inbox does when one conversation, or one person, has more waiting than it may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import ConversationFull, InboxFull
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.stores.inbox import TASK, Inbox, shard_of
from runtime.stores.sessions import LeaseStore
from tests.contract.storage_samples import SHARD, event, shard_lease

pytestmark = pytest.mark.anyio

THERE, ELSEWHERE = islice(
    (address for address in (Address("web", str(n)) for n in range(10_000)) if shard_of(address.key) == SHARD), 2
)


@pytest.fixture(params=["memory", "redis"])
async def stores(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[tuple[Inbox, LeaseStore]]:
    """An inbox in which three events of a conversation may wait, and five of a person in a shard."""
    if request.param == "memory":
        leases = MemoryLeaseStore(SystemClock())
        yield MemoryInbox(leases, conversation_bound=3, person_bound=5), leases
        return
    async with open_connection(request.getfixturevalue("valkey_socket"), patience_s=20) as connection:
        yield RedisInbox(connection, conversation_bound=3, person_bound=5), RedisLeaseStore(connection)


@pytest.fixture
def inbox(stores: tuple[Inbox, LeaseStore]) -> Inbox:
    return stores[0]


async def fill(inbox: Inbox) -> None:
    for number in range(3):
        assert await inbox.add(event(f"m{number}"))


async def test_a_crowded_conversation_refuses_and_forgets_nothing(inbox: Inbox) -> None:
    await fill(inbox)
    with pytest.raises(ConversationFull) as refused:
        await inbox.add(event("one too many"))
    assert refused.value.bound == 3
    assert not await inbox.add(event("m0"))
    waiting = await inbox.read({SHARD: "0"}, wait_s=1)
    assert [entry.event.id for entry in waiting] == ["m0", "m1", "m2"]


async def test_another_conversation_of_the_shard_has_room(inbox: Inbox) -> None:
    await fill(inbox)
    assert await inbox.add(event("m", address=THERE))


@pytest.mark.parametrize("kind", ["stop", "new", "undo", "notice", "timer"])
async def test_commands_and_what_we_say_ourselves_always_have_room(inbox: Inbox, kind: str) -> None:
    await fill(inbox)
    assert await inbox.add(replace(event(kind), kind=kind))


async def test_what_was_refused_is_taken_when_there_is_room(stores: tuple[Inbox, LeaseStore]) -> None:
    inbox, leases = stores
    await fill(inbox)
    with pytest.raises(ConversationFull):
        await inbox.add(event("late"))
    lease = await shard_lease(leases)
    (first, *_) = await inbox.read({SHARD: "0"}, wait_s=1)
    await inbox.dismiss(first, lease.token)
    assert await inbox.add(event("late"))


@pytest.mark.parametrize("kind", ["message", "status", TASK])
async def test_one_person_who_fills_a_shard_does_not_keep_others_out(inbox: Inbox, kind: str) -> None:
    await fill(inbox)
    for number in range(2):
        assert await inbox.add(event(f"t{number}", address=THERE))
    elsewhere = replace(event("e", address=ELSEWHERE), kind=kind)
    with pytest.raises(InboxFull, match="telegram:42"):
        await inbox.add(elsewhere)
    assert await inbox.add(replace(elsewhere, person_id="telegram:43"))
    assert await inbox.add(replace(elsewhere, id="s", kind="stop"))
    assert await inbox.add(replace(elsewhere, id="n", kind="notice", person_id=""))


async def letters_of(inbox: Inbox) -> list[str]:
    """The ids of the events that were put aside, in their order."""
    if isinstance(inbox, MemoryInbox):
        return [entry.event.id for entry, _ in inbox.dead]
    assert isinstance(inbox, RedisInbox)
    return [one.event.id for one in await RedisDeadLetters(inbox._connection).page(limit=100)]


async def test_who_has_many_dead_letters_loses_their_own_and_nobody_elses(stores: tuple[Inbox, LeaseStore]) -> None:
    inbox, leases = stores
    lease = await shard_lease(leases)
    sent = [replace(event("bobs", address=THERE), person_id="web:bob")]
    sent += [replace(event(f"m{number}"), person_id="web:ada") for number in range(8)]
    for one in sent:
        assert await inbox.add(one)
        [entry] = await inbox.read({SHARD: "0"}, wait_s=1)
        await inbox.discard(entry, lease.token, reason="failed")
    assert await letters_of(inbox) == ["bobs", "m3", "m4", "m5", "m6", "m7"]
