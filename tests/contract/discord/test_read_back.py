"""What was said in a thread, a forum post and a channel on Discord before the bot was spoken to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from adapters.discord.adapter import DiscordAdapter
from runtime.core.errors import AdapterError
from tests.contract.discord.speaking import general
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio


async def test_a_thread_is_told_from_the_message_that_it_began_with(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    bob = world.person("bob")
    root = world.say("the site is down", person=bob)
    thread = world.people.thread_below(bob, world.general, root, "Outage")
    for number in range(6):
        world.say(str(number), thread)
    world.hook_says("an alert elsewhere")
    asked = world.say(f"<@{world.bot}> sum this up", thread)
    place = replace(general(platform), thread=thread)
    earlier = await adapter.earlier(place, asked, at_most=4)
    assert [one.text for one in earlier] == ["the site is down", "3", "4", "5"]
    assert (earlier[0].person_id, earlier[0].person_name) == (f"discord:{bob.id}", "bob")
    assert {(one.address, one.addressed, one.space) for one in earlier} == {(place, False, str(world.guild.id))}


async def test_a_forum_post_is_told_from_its_first_message(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    bob = world.person("bob")
    thread = world.people.forum_post(world.guild.id, bob, "Idea", "what about tea?")
    world.say("yes", thread)
    asked = world.say(f"<@{world.bot}> and?", thread)
    parent = str(world.backend.get_channel(int(thread)).parent_id)
    earlier = await adapter.earlier(replace(general(platform), conversation=parent, thread=thread), asked, at_most=50)
    assert [one.text for one in earlier] == ["what about tea?", "yes"]


async def test_a_channel_is_told_with_what_bots_say_and_a_new_thread_has_no_past(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    world.say("hm")
    world.hook_says("Build 7 failed")
    asked = world.say(f"<@{world.bot}> why?")
    earlier = await adapter.earlier(general(platform), asked, at_most=50)
    assert [(bool(one.person_id), one.text) for one in earlier] == [(True, "hm"), (False, "Build 7 failed")]
    assert await adapter.earlier(replace(general(platform), thread=asked), asked, at_most=50) == []


async def test_where_history_may_not_be_read_an_adapters_error_is_raised(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.world.forbid("read_message_history")
    with pytest.raises(AdapterError):
        await adapter.earlier(replace(general(platform), thread="5"), "99", at_most=50)
