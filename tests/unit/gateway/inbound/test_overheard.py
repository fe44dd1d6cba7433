"""Words in a thread that is nobody's yet are taken once it turns out to be a session's, and otherwise never."""

import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from gateway.inbound.earlier import MAX_KEPT
from runtime.core.address import Address
from runtime.core.errors import StorageUnavailable
from runtime.core.ids import SessionId
from runtime.stores.sessions import HeldPlace
from tests.unit.gateway.inbound.arrivals import Door, event, opened

HOME, THREAD, OTHER = Address("test", "home"), Address("test", "home", "7"), Address("test", "home", "8")
HELD = HeldPlace(HOME, SessionId("s1"), None)


def said(text: str, at: Address = THREAD, id_: str = "", **more: str) -> Inbound:
    """Words that address nobody."""
    return replace(event(text, id=id_ or text, **more), address=at, addressed=False)


def texts(door: Door) -> list[str]:
    assert all((kept.address, kept.place) == (HOME, THREAD) for kept in door.inbox.events)
    return [kept.text for kept in door.inbox.events]


async def test_what_was_said_in_a_thread_is_taken_in_order_when_the_thread_is_held() -> None:
    door = Door(await opened("open"))
    await door.take(said("left"), said("elsewhere", OTHER), said("aloud", HOME), said("no, right"))
    assert door.inbox.events == []
    places = door.places
    await places.put(THREAD, HELD)
    assert texts(door) == ["left", "no, right"]
    await places.put(THREAD, HELD)
    assert texts(door) == ["left", "no, right"]


async def test_where_another_process_holds_the_thread_the_next_words_there_bring_the_earlier_ones() -> None:
    door = Door(await opened("open"))
    await door.take(said("left"))
    await door.places.put(THREAD, HELD)
    await door.take(said("are you there?"))
    assert texts(door) == ["left", "are you there?"]


async def test_nothing_is_lost_when_the_database_is_away_at_that_moment() -> None:
    door = Door(await opened("open"))
    await door.take(said("left"))
    places = door.places
    door.inbox.fault = StorageUnavailable("away")
    with pytest.raises(StorageUnavailable):
        await places.put(THREAD, HELD)
    door.inbox.fault = None
    await places.put(THREAD, HELD)
    assert texts(door) == ["left"]


async def test_only_so_many_words_are_kept_and_neither_edits_nor_reactions() -> None:
    door = Door(await opened("open"))
    await door.take(said("changed", act="edit"), *(said("x", id_=f"{n}") for n in range(MAX_KEPT + 5)))
    await door.places.put(THREAD, HELD)
    assert len(door.inbox.events) == MAX_KEPT
    assert "changed" not in texts(door)


async def test_one_person_who_writes_much_in_threads_does_not_have_the_words_of_others_forgotten() -> None:
    door = Door(await opened("open"))
    await door.take(said("mine", person="7"), *(said("x", OTHER, id_=f"{n}") for n in range(MAX_KEPT + 5)))
    await door.places.put(THREAD, HELD)
    assert texts(door) == ["mine"]
