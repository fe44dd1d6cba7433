"""The contract of every store of dead letters."""

from __future__ import annotations

import pytest

from runtime.core.errors import InboxFull, LetterGone
from runtime.stores.inbox import DeadLetter, shard_of
from tests.contract.conftest import BOUND, Stores
from tests.contract.storage_samples import SHARD, event, shard_lease
from tests.contract.stores.test_inbox import ELSEWHERE

pytestmark = pytest.mark.anyio

OTHER_SHARD = shard_of(ELSEWHERE.key)


async def died(stores: Stores, *names: str, elsewhere: bool = False) -> list[DeadLetter]:
    """Events that were discarded, in one shard or another."""
    shard = OTHER_SHARD if elsewhere else SHARD
    lease = await shard_lease(stores.leases, shard=shard)
    for name in names:
        await stores.inbox.add(event(name, address=ELSEWHERE) if elsewhere else event(name))
    for entry in await stores.inbox.read({shard: "0"}, wait_s=1):
        await stores.inbox.discard(entry, lease.token, reason=f"{entry.event.id} failed")
    return list(await stores.letters.page(limit=100))


async def waiting(stores: Stores) -> list[str]:
    return [entry.event.id for entry in await stores.inbox.read({SHARD: "0"}, wait_s=0.01)]


async def test_a_letter_has_the_event_and_why_it_died(stores: Stores) -> None:
    (letter,) = await died(stores, "1")
    assert (letter.event, letter.reason, letter.shard) == (event("1"), "1 failed", SHARD)
    assert await stores.letters.get(letter.id) is not None


async def test_letters_are_listed_in_pages_over_all_shards(stores: Stores) -> None:
    await died(stores, "1", "2", "3")
    letters = await died(stores, "4", "5", elsewhere=True)
    assert sorted(letter.event.id for letter in letters) == ["1", "2", "3", "4", "5"]
    paged: list[str] = []
    while page := await stores.letters.page(paged[-1] if paged else "", limit=2):
        assert len(page) <= 2
        paged += [letter.id for letter in page]
    assert paged == [letter.id for letter in letters]


async def test_a_replayed_letter_is_in_the_inbox_once(stores: Stores) -> None:
    (letter,) = await died(stores, "1")
    await stores.letters.replay(letter.id)
    assert await waiting(stores) == ["1"]
    with pytest.raises(LetterGone, match=letter.id):
        await stores.letters.replay(letter.id)
    assert not await stores.inbox.add(event("1"))
    assert await waiting(stores) == ["1"]


async def test_a_letter_that_dies_again_is_a_letter_again(stores: Stores) -> None:
    (first,) = await died(stores, "1")
    await stores.letters.replay(first.id)
    (second,) = await died(stores)
    assert second.event == first.event
    assert second.id != first.id


async def test_a_dropped_letter_is_gone(stores: Stores) -> None:
    first, second = await died(stores, "1", "2")
    assert (await stores.letters.drop(first.id)).event.id == "1"
    assert [letter.id for letter in await stores.letters.page(limit=10)] == [second.id]
    for again in (stores.letters.drop, stores.letters.replay):
        with pytest.raises(LetterGone, match=first.id):
            await again(first.id)
    assert await waiting(stores) == []


async def test_a_full_inbox_leaves_the_letter_where_it_is(stores: Stores) -> None:
    (letter,) = await died(stores, "dead")
    for number in range(BOUND):
        await stores.inbox.add(event(str(number)))
    with pytest.raises(InboxFull):
        await stores.letters.replay(letter.id)
    assert await stores.letters.get(letter.id) is not None


@pytest.mark.parametrize("nonsense", ["", "7", "x-1-0", "64-1-0", "1-1", "1-a-0"])
async def test_what_is_no_id_of_a_letter_is_no_letter(stores: Stores, nonsense: str) -> None:
    assert await stores.letters.get(nonsense) is None
    with pytest.raises(LetterGone):
        await stores.letters.drop(nonsense)
