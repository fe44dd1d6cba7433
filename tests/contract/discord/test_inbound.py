"""What people write and choose on Discord comes in, and commands are acknowledged once they are safe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.address import Address
from runtime.core.texts import english
from tests.contract.discord.speaking import COMMANDS, general, listening, new_adapter, private, send
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio

COMMAND_TAKEN = english()("sessions.taken")


async def test_messages_come_in_order(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        world.say("one", world.private())
        world.say("two")
        world.say(f"<@{world.bot}>, three for <@{world.bob.id}>")
        world.say(f"<@&{world.bot_role}> four")
        items = [await anext(inbound) for _ in range(4)]
    us, ada = general(platform), private(platform)
    assert [(item.text, item.address, item.private, item.addressed) for item in items] == [
        ("one", ada, True, True),
        ("two", us, False, False),
        ("three for @Bob", replace(us, thread=items[2].message_id), False, True),
        ("four", replace(us, thread=items[3].message_id), False, True),
    ]
    assert {(item.person_id, item.person_name) for item in items} == {(f"discord:{world.ada.id}", "Ada Lovelace")}


async def test_own_and_webhooks_messages_are_passed_over(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        await send(adapter, "as the bot", to=private(platform))
        await send(adapter, "as an agent", to=general(platform), nonce="b.0")
        platform.world.hook_says("news")
        platform.world.say("a person")
        assert (await anext(inbound)).text == "a person"


async def test_replies_to_the_bot_and_to_its_agents_are_addressed(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        await send(adapter, "as an agent", to=general(platform))
        agent = world.messages(world.general)[0].id
        other = world.say("a person")
        world.say("to the agent", reply_to=agent)
        world.say("to the person", reply_to=other)
        items = [await anext(inbound) for _ in range(3)]
    assert [(item.text, item.addressed) for item in items] == [
        ("a person", False),
        ("to the agent", True),
        ("to the person", False),
    ]


async def test_thread_is_ours_when_we_opened_it_or_spoke_in_it_also_after_a_restart(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    theirs, spoken, opened = world.thread("Theirs"), world.thread("Spoken in"), world.thread("Opened", by_bot=True)
    async with aclosing(new_adapter(options)) as adapter, listening(adapter, platform) as inbound:
        await send(adapter, "hi", to=replace(general(platform), thread=spoken))
        heard = await _said_in(inbound, platform, theirs, spoken, opened)
    async with aclosing(new_adapter(options)) as adapter, listening(adapter, platform) as inbound:
        again = await _said_in(inbound, platform, theirs, spoken, opened)
    expected = [(Address("discord", world.general, t), t != theirs) for t in (theirs, spoken, opened)]
    assert heard == again == expected


async def _said_in(
    inbound: AsyncIterator[Inbound], platform: DiscordPlatform, *threads: str
) -> list[tuple[Address, bool]]:
    for thread in threads:
        platform.world.say("hello", thread)
    items = [await anext(inbound) for _ in threads]
    return [(item.address, item.addressed) for item in items]


async def test_thread_that_is_not_known_yet_is_asked_for(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        for owner in (world.ada, world.backend.bot_user):
            quiet = world.backend.create_thread(int(world.general), "Quiet", owner.id, broadcast=False)
            world.say("hello", str(quiet.id))
        items = [await anext(inbound) for _ in range(2)]
    assert items[1].address == replace(general(platform), thread=str(quiet.id))
    assert [item.addressed for item in items] == [False, True]
    assert len(platform.calls_of("channel")) == 2


async def test_commands_are_offered_and_come_in_with_their_text(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        [offered] = platform.calls_of("commands")
        assert {each["name"]: each["description"] for each in offered.body if each["name"] in COMMANDS} == COMMANDS
        platform.world.choose("new", text="a poem")
        platform.world.choose("stop", platform.world.private())
        items = [await anext(inbound) for _ in range(2)]
    assert [(item.command, item.text, item.address, item.addressed) for item in items] == [
        ("new", "a poem", general(platform), True),
        ("stop", "", private(platform), True),
    ]


async def test_command_in_a_thread_knows_its_channel(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    thread = platform.world.thread("Plans")
    async with listening(adapter, platform) as inbound:
        platform.world.choose("status", thread)
        assert (await anext(inbound)).address == replace(general(platform), thread=thread)


async def test_receipt_of_a_command_is_given_when_it_is_safe_and_seen_by_its_person_alone(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        chosen = platform.world.choose("new")
        await anext(inbound)
        assert platform.world.receipt(chosen) is None
        platform.world.say("next")
        await anext(inbound)
        await platform.until(lambda: platform.world.receipt(chosen) is not None)
    assert platform.world.receipt(chosen) == COMMAND_TAKEN
    assert platform.world.backend.interactions[int(chosen)].ephemeral


async def test_command_that_waits_long_is_acknowledged_in_time_and_gets_its_receipt_later(
    adapter: DiscordAdapter, platform: DiscordPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.discord.inbound.menu.ACKNOWLEDGE_WITHIN_S", 0.0)
    async with listening(adapter, platform) as inbound:
        chosen = platform.world.choose("new")
        await platform.until(lambda: platform.world.receipt(chosen) is not None)
        assert platform.world.receipt(chosen) == ""
        await anext(inbound)
        platform.world.say("next")
        await anext(inbound)
        await platform.until(lambda: platform.world.receipt(chosen) != "")
    assert platform.world.receipt(chosen) == COMMAND_TAKEN


async def test_typed_command_works_as_well(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("/stop now")
        item = await anext(inbound)
    assert (item.command, item.text, item.addressed) == ("stop", "now", True)


async def test_commands_that_cannot_be_offered_are_no_reason_not_to_listen(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.fail("commands", "refuse", status=403)
    async with listening(adapter, platform) as inbound:
        platform.world.say("hello")
        assert (await anext(inbound)).text == "hello"
