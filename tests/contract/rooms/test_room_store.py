"""The contract of every RoomStore."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.contract.conftest import BOUND, Stores
from tests.contract.storage_samples import T0, post

pytestmark = pytest.mark.anyio


async def test_a_message_comes_back_whole(stores: Stores) -> None:
    kept = await stores.rooms.put("lobby", post("a", 'Grüße, "Ada" \\ 👋\n', final=False))
    assert (kept.id, kept.seq, kept.version, kept.final) == ("a", 1, 1, False)
    assert (kept.author_id, kept.author_name, kept.author_kind) == ("1000", "Greeter", "agent")
    assert (kept.text, kept.sent_at, kept.thread) == ('Grüße, "Ada" \\ 👋\n', T0, None)
    assert list(await stores.rooms.history("lobby", limit=10)) == [kept]


async def test_the_same_id_again_returns_what_is_kept(stores: Stores) -> None:
    first = await stores.rooms.put("lobby", post("a", "first"))
    assert await stores.rooms.put("lobby", post("a", "second")) == first
    assert len(await stores.rooms.history("lobby", limit=10)) == 1


async def test_an_update_keeps_the_place_and_takes_a_new_version(stores: Stores) -> None:
    await stores.rooms.put("lobby", post("a", "Hel", final=False))
    await stores.rooms.put("lobby", post("b"))
    changed = await stores.rooms.update("lobby", "a", text="Hello", final=True)
    assert changed is not None
    assert (changed.seq, changed.version, changed.text, changed.final) == (1, 3, "Hello", True)
    assert [message.id for message in await stores.rooms.history("lobby", limit=10)] == ["a", "b"]


async def test_an_update_that_says_nothing_new_takes_no_version(stores: Stores) -> None:
    kept = await stores.rooms.put("lobby", post("a", "Hello"))
    assert await stores.rooms.update("lobby", "a", text="Hello", final=True) == kept


async def test_what_is_not_there_cannot_be_updated(stores: Stores) -> None:
    assert await stores.rooms.update("lobby", "a", text="Hello", final=True) is None
    await stores.rooms.put("lobby", post("a"))
    assert await stores.rooms.update("elsewhere", "a", text="Hello", final=True) is None


async def test_history_is_the_newest_before_a_bound_oldest_first(stores: Stores) -> None:
    for name in "abcde":
        await stores.rooms.put("lobby", post(name))

    async def names(**bounds: int) -> str:
        return "".join([message.id for message in await stores.rooms.history("lobby", **{"limit": 9, **bounds})])

    assert await names() == "abcde"
    assert await names(limit=2) == "de"
    assert await names(before_seq=4, limit=2) == "bc"
    assert await names(before_seq=1) == ""


async def test_changes_are_in_order_of_version_each_as_it_is_now(stores: Stores) -> None:
    for name in "abc":
        await stores.rooms.put("lobby", post(name, final=False))
    await stores.rooms.update("lobby", "a", text="1", final=False)
    await stores.rooms.update("lobby", "a", text="2", final=True)
    news = await stores.rooms.changes("lobby", after_version=2, limit=10)
    assert [(message.id, message.version, message.text) for message in news] == [("c", 3, "Hello"), ("a", 5, "2")]
    assert [message.id for message in await stores.rooms.changes("lobby", after_version=0, limit=1)] == ["b"]
    assert list(await stores.rooms.changes("lobby", after_version=5, limit=10)) == []


async def test_a_room_keeps_the_newest_and_its_numbers_go_on(stores: Stores) -> None:
    for number in range(BOUND + 2):
        await stores.rooms.put("lobby", post(str(number)))
    kept = await stores.rooms.history("lobby", limit=100)
    assert [message.seq for message in kept] == list(range(3, BOUND + 3))
    assert await stores.rooms.update("lobby", "0", text="late", final=True) is None
    assert [message.seq for message in await stores.rooms.changes("lobby", after_version=0, limit=100)] == [
        message.seq for message in kept
    ]


async def test_rooms_are_listed_by_their_latest_message(stores: Stores) -> None:
    assert list(await stores.rooms.rooms()) == []
    for second, room in enumerate(["lobby", "garden", "a:b", "lobby"]):
        await stores.rooms.put(room, post(f"{room}{second}", second=second))
    found = await stores.rooms.rooms()
    assert [info.id for info in found] == ["lobby", "a:b", "garden"]
    assert found[0].last_activity == T0 + timedelta(seconds=3)
