"""What every adapter does with what people do, also when no more can be taken, and which parts it has."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from adapters.adapter import CanEdit, CanShowTyping, HoldsConnections, Inbound
from gateway.access.admission import AccessRules, PlatformAccess
from gateway.inbound.router import InboundRouter
from runtime.core.address import Speaker
from runtime.core.clock import SystemClock
from runtime.core.errors import ConversationFull, InboxFull
from tests.contract.stands.kinds import STANDS, stand_of
from tests.contract.stands.parts import LACKS, lacked_by, needs
from tests.contract.stands.stand import Stand
from tests.unit.gateway.inbound.arrivals import TEXTS, Door, people

pytestmark = pytest.mark.anyio

WRITER = Speaker("1000", "Writer")


async def heard(inbound: AsyncIterator[Inbound], count: int) -> list[Inbound]:
    return [await anext(inbound) for _ in range(count)]


@needs("editing", "rights")
async def test_a_chat_platforms_adapter_edits_shows_typing_and_holds_connections(stand: Stand) -> None:
    assert isinstance(stand.adapter, CanEdit)
    assert isinstance(stand.adapter, CanShowTyping)
    assert isinstance(stand.adapter, HoldsConnections)


async def test_people_keep_their_identity_everywhere(stand: Stand) -> None:
    async with stand.listening() as inbound:
        await stand.say("one", stand.private)
        await stand.say("two", stand.group, by="ada")
        await stand.say("three", stand.group, by="bob")
        one, two, three = await heard(inbound, 3)
    assert one.person_id == two.person_id != three.person_id
    assert all(each.person_id.startswith(f"{stand.adapter.name}:") for each in (one, two, three))
    assert (one.person_name.split()[0], three.person_name) == ("Ada", "Bob")


async def test_what_people_say_comes_once_and_in_order(stand: Stand) -> None:
    async with stand.listening() as inbound:
        for number in range(10):
            await stand.say(f"number {number}", stand.private)
        items = await heard(inbound, 10)
    assert [item.text for item in items] == [f"number {number}" for number in range(10)]
    assert len({item.event_id for item in items}) == 10
    assert all(item.address == stand.private and item.addressed for item in items)


async def test_every_message_has_the_platforms_id(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.say("hello", stand.private)
        [item] = await heard(inbound, 1)
    assert (item.act, item.message_id) == ("message", message)


async def test_a_repeated_delivery_has_the_same_event_id(stand: Stand) -> None:
    async with stand.listening() as inbound:
        await stand.say("once", stand.private)
        [first] = await heard(inbound, 1)
        await stand.say_again()
        await stand.say("after", stand.private)
        [second] = await heard(inbound, 1)
        if second.text == "once":
            assert second.event_id == first.event_id
            [second] = await heard(inbound, 1)
    assert second.text == "after"


async def test_a_mention_is_addressed_and_taken_out_of_the_text(stand: Stand) -> None:
    async with stand.listening() as inbound:
        await stand.say("what now?", stand.group)
        [item] = await heard(inbound, 1)
    assert (item.text, item.addressed, item.address.conversation) == (
        "what now?",
        True,
        stand.group.conversation,
    )


async def test_a_mention_of_nobody_in_a_group_is_not_addressed_where_people_talk_among_themselves(
    stand: Stand,
) -> None:
    async with stand.listening() as inbound:
        await stand.say("just us", stand.group, addressed=False)
        await stand.say("now you", stand.group)
        items = [item for item in await heard(inbound, 2) if item.text == "just us"]
    assert all(item.addressed != stand.needs_mention for item in items)


@needs("threads")
async def test_a_thread_is_a_conversation_of_its_own(stand: Stand) -> None:
    topic = await stand.topic()
    assert topic is not None
    await stand.adapter.send(topic, "here we are", speaker=WRITER, nonce="t.0", final=True)
    async with stand.listening() as inbound:
        await stand.say("within", topic)
        item = await anext(inbound)
        while item.text != "within":
            item = await anext(inbound)
    assert (item.address, item.addressed) == (topic, True)


async def test_what_is_said_while_the_connection_is_cut_is_heard_after(stand: Stand) -> None:
    async with stand.listening() as inbound:
        await stand.say("before", stand.private)
        assert (await anext(inbound)).text == "before"
        await stand.cut()
        await stand.say("meanwhile", stand.private)
        item = await anext(inbound)
        while item.text == "before":
            item = await anext(inbound)
    assert item.text == "meanwhile"


@pytest.mark.parametrize("full", [InboxFull("full"), ConversationFull("crowded", bound=200)])
async def test_who_is_not_taken_in_is_told_and_the_platform_brings_it_no_more(stand: Stand, full: InboxFull) -> None:
    access = PlatformAccess(stand.adapter.name, AccessRules("open"), people(), SystemClock())
    door = Door(access)
    door.inbox.fault = full
    router = InboundRouter(stand.adapter, access, door.entrance)
    texts = TEXTS.marked(stand.adapter.capabilities.command_mark)
    told = texts("inbound.crowded", limit=200) if isinstance(full, ConversationFull) else texts("inbound.full")
    async with stand.listening() as inbound:
        await stand.say("first", stand.private)
        await router.take(await anext(inbound))
        assert door.told == [(stand.private.key, told)]
        door.inbox.fault = None
        await stand.say("second", stand.private)
        with anyio.fail_after(60):
            await router.take(await anext(inbound))
        await stand.say("third", stand.private)
        with anyio.fail_after(60):
            await router.take(await anext(inbound))
    assert [text for _, text, _ in door.kept] == ["second", "third"]


@pytest.mark.parametrize("platform", STANDS)
async def test_a_platform_lacks_what_is_written_down_and_nothing_else(platform: str) -> None:
    async with stand_of(platform) as stand:
        assert (await lacked_by(stand), stand.adapter.name) == (LACKS[platform], platform)
