"""Notices to owners: in private, once, and to those alone who are owners still."""

from __future__ import annotations

import pytest

from gateway.access.owner_notices import OwnerNotices
from gateway.access.people import Role
from runtime.core.address import Address
from runtime.core.message import Choice
from runtime.core.texts import english
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import NOTICE, shard_of
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people

pytestmark = pytest.mark.anyio


async def test_an_owner_is_known_by_the_place_where_they_last_wrote_in_private() -> None:
    store = people(_42=Role.OWNER, _7=Role.MEMBER)
    door = Door(await opened(store=store), store=store)
    await door.take(
        event(chat="1"),
        event(chat="2", id="b"),
        event(chat="3", private=False, id="c"),
        event(chat="7", person="7", id="d"),
    )
    assert await door.owner_places.all() == {"test:42": '["test", "2", null]'}


async def test_where_guests_read_along_an_owner_is_told_alone() -> None:
    store = people(_42=Role.OWNER)
    door = Door(await opened("open", store=store, enclosed=True), store=store)
    await door.take(event(chat="3", private=False))
    inbox, places = MemoryInbox(MemoryLeaseStore()), door.owner_places

    async def is_owner(person: str) -> bool:
        return True

    notices = OwnerNotices(places, is_owner, inbox, {"test": english()}, FakeClock())
    await notices.tell("n1", "debug.is_left", among="debug.is_done", number=7)
    (entry,) = await inbox.read({shard_of("test:3"): "0"}, wait_s=0)
    assert (entry.event.address, entry.event.asker) == (Address("test", "3"), "test:42")
    assert entry.event.text == "Report 7 has already been tried again."
    await door.take(event(chat="2", id="b"))
    await notices.tell("n2", "debug.is_left", among="debug.is_done", number=8)
    (entry,) = await inbox.read({shard_of("test:2"): "0"}, wait_s=0)
    assert (entry.event.address, entry.event.asker) == (Address("test", "2"), "")
    assert entry.event.text == "Report 8 is left as it is."


async def test_a_notice_comes_once_to_those_who_are_owners_now() -> None:
    inbox, places = MemoryInbox(MemoryLeaseStore()), MemoryRecords()

    async def is_owner(person: str) -> bool:
        return person != "test:gone"

    notices = OwnerNotices(places, is_owner, inbox, {"test": english()}, FakeClock())
    for person, chat in (("test:42", "2"), ("test:gone", "3"), ("off:1", "4")):
        await notices.seen(person, Address(person.partition(":")[0], chat))
    for _ in range(2):
        await notices.tell("n1", "debug.is_left", [Choice("report.again.1", "Again")], number=7)
    shards = {shard_of(f"{platform}:{chat}"): "0" for platform, chat in (("test", "2"), ("test", "3"), ("off", "4"))}
    (entry,) = await inbox.read(shards, wait_s=0)
    assert (entry.event.address, entry.event.kind) == (Address("test", "2"), NOTICE)
    assert entry.event.text == "Report 7 is left as it is."
    assert list(entry.event.attachments) == [{"id": "report.again.1", "label": "Again"}]
