"""What was said in a room and in a thread of the browser chat before somebody asks there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from adapters.adapter import CanReadBack, Inbound
from runtime.core.address import GATEWAY, Address, Speaker
from tests.contract.stands.kinds import stand_of
from tests.contract.stands.stand import Stand, Who

pytestmark = pytest.mark.anyio

HOST = Speaker("1000", "Host")


async def told(stand: Stand, to: Address, before: str, at_most: int = 50) -> list[str]:
    """The texts of what was said before, of people with their names."""
    assert isinstance(stand.adapter, CanReadBack)
    earlier = await stand.adapter.earlier(to, before, at_most=at_most)
    assert all(one.address == to and not one.addressed and one.command is None for one in earlier)
    return [f"{one.person_name}: {one.text}" if one.person_id else one.text for one in earlier]


async def said(stand: Stand, inbound: AsyncIterator[Inbound], text: str, to: Address, by: Who = "ada") -> str:
    """Somebody says something; its id, once it is there."""
    message = await stand.say(text, to, by=by)
    while (await anext(inbound)).message_id != message:
        pass
    return message


async def test_a_room_is_told_in_order_with_what_agents_said_and_without_what_is_gone() -> None:
    async with stand_of("web") as stand, stand.listening() as inbound:
        to = stand.group
        await said(stand, inbound, "one", to)
        gone = await said(stand, inbound, "gone", to)
        await stand.withdraw(to, gone)
        assert (await anext(inbound)).act == "deletion"
        changed = await said(stand, inbound, "too", to)
        await stand.rewrite(to, changed, "two")
        assert (await anext(inbound)).act == "edit"
        await stand.adapter.send(to, "three", speaker=HOST, nonce="n3", final=True)
        await stand.adapter.send(to, "a notice", speaker=GATEWAY, nonce="n4", final=True)
        await stand.adapter.send(to, "to Bob alone", speaker=replace(HOST, to="Bob"), nonce="n5", final=True)
        await stand.adapter.send(to, "still gro", speaker=HOST, nonce="n6", final=False)
        asked = await said(stand, inbound, "sum this up", to, "bob")
        await said(stand, inbound, "later", to)
        assert await told(stand, to, asked) == ["Ada: one", "Ada: two", "three"]
        assert await told(stand, to, asked, at_most=2) == ["Ada: two", "three"]


async def test_a_thread_is_told_from_the_message_that_it_hangs_on_however_long_it_and_its_room_are() -> None:
    async with stand_of("web") as stand, stand.listening() as inbound:
        root = await said(stand, inbound, "start", stand.group)
        for number in range(410):
            await stand.adapter.send(stand.group, f"room {number}", speaker=HOST, nonce=f"r{number}", final=True)
        thread = replace(stand.group, thread=root)
        for number in range(5):
            await stand.adapter.send(thread, str(number), speaker=HOST, nonce=f"t{number}", final=True)
        asked = await said(stand, inbound, "sum this up", thread)
        assert await told(stand, thread, asked, at_most=3) == ["Ada: start", "3", "4"]
        assert await told(stand, thread, asked) == ["Ada: start", *map(str, range(5))]


@pytest.mark.parametrize("speaker", [GATEWAY, replace(HOST, to="Bob")], ids=["a notice", "to one person alone"])
async def test_a_thread_is_told_without_the_message_that_it_hangs_on_where_a_room_would_be(speaker: Speaker) -> None:
    async with stand_of("web") as stand, stand.listening() as inbound:
        root = await stand.adapter.send(stand.group, "not for all", speaker=speaker, nonce="n1", final=True)
        thread = replace(stand.group, thread=root)
        await stand.adapter.send(thread, "one", speaker=HOST, nonce="n2", final=True)
        asked = await said(stand, inbound, "sum this up", thread, "bob")
        assert await told(stand, thread, asked) == ["one"]
