"""Threads that the bot opens: what Discord does, refuses and loses then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from adapters.discord.adapter import DiscordAdapter
from runtime.core.errors import OutcomeUncertain
from tests.contract.discord.speaking import general, private
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio

FORUM = 15


async def test_a_thread_begins_with_a_message_in_the_channel(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    opened = await adapter.open_thread(general(platform), "Another way", nonce="f.1")
    [root] = platform.world.messages(platform.world.general)
    assert (root.text, platform.world.people.threads()) == ("Another way", {root.id: "Another way"})
    assert opened == replace(general(platform), thread=root.id)


@pytest.mark.parametrize("call", ["send", "open_thread"])
async def test_a_thread_whose_opening_was_not_answered_is_opened_once(
    adapter: DiscordAdapter, platform: DiscordPlatform, call: str
) -> None:
    platform.fail(call, "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.open_thread(general(platform), "Another way", nonce="f.1")
    opened = await adapter.open_thread(general(platform), "Another way", nonce="f.1")
    [root] = platform.world.messages(platform.world.general)
    assert opened is not None
    assert list(platform.world.people.threads()) == [opened.thread] == [root.id]


async def test_where_the_bot_may_open_no_threads_nothing_is_left_behind(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.world.forbid("create_public_threads")
    assert await adapter.open_thread(general(platform), "Another way", nonce="f.1") is None
    assert platform.world.messages(platform.world.general) == []


async def test_in_a_forum_a_post_is_opened(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    forum = str(world.backend.create_channel(world.guild.id, "ideas", type=FORUM).id)
    opened = await adapter.open_thread(replace(general(platform), conversation=forum), "Another way", nonce="f.1")
    assert opened is not None
    assert (opened.conversation, world.people.threads()) == (forum, {opened.thread: "Another way"})


async def test_links_lead_to_threads_and_to_private_conversations(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    thread = replace(general(platform), thread=platform.world.thread("Topic", by_bot=True))
    server = platform.world.guild.id
    assert await adapter.link(thread) == f"https://discord.com/channels/{server}/{thread.thread}"
    mine = private(platform)
    assert await adapter.link(mine) == f"https://discord.com/channels/@me/{mine.conversation.removeprefix('dm:')}"
