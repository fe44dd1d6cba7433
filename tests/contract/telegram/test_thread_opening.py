"""Topics that the bot opens: what Telegram does, refuses and loses then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from runtime.core.address import Address
from runtime.core.errors import OutcomeUncertain
from tests.contract.telegram.speaking import ADA, OLD_GROUP, US
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio


async def test_a_forum_gets_a_topic_with_the_title(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open(GROUP, forum=True)
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    [(chat, topic)] = platform.chats.topic_names
    assert (opened, platform.chats.topic_names) == (replace(US, thread=str(topic)), {(chat, topic): "Another way"})


async def test_a_private_chat_gets_one_where_the_bot_has_topics(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    assert await adapter.open_thread(ADA, "Another way", nonce="f.1") is None
    platform.chats.private_with_topics.add(PERSON)
    opened = await adapter.open_thread(ADA, "Another way", nonce="f.1")
    assert opened is not None
    assert (opened.conversation, opened.thread is not None) == (ADA.conversation, True)
    assert await adapter.link(opened) is None


async def test_a_group_without_topics_gets_none(adapter: TelegramAdapter) -> None:
    assert await adapter.open_thread(US, "Another way", nonce="f.1") is None


async def test_a_forum_gets_none_where_the_bot_may_not_manage_topics(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.open(GROUP, forum=True)
    platform.chats.keeps_topics.add(GROUP)
    assert await adapter.open_thread(US, "Another way", nonce="f.1") is None


async def test_a_server_without_topics_gets_none(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.unknown.add("createForumTopic")
    assert await adapter.open_thread(US, "Another way", nonce="f.1") is None


async def test_an_answer_that_is_lost_is_told_and_leaves_an_empty_topic(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.open(GROUP, forum=True)
    platform.fail("createForumTopic", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.open_thread(US, "Another way", nonce="f.1")
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    assert opened is not None
    assert len(platform.chats.topic_names) == 2


async def test_a_topic_is_opened_in_the_supergroup_that_a_group_became(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP)
    platform.chats.open(GROUP, forum=True)
    group = Address("telegram", str(OLD_GROUP))
    opened = await adapter.open_thread(group, "Another way", nonce="f.1")
    assert opened is not None
    assert opened.conversation == str(OLD_GROUP)
    assert await adapter.link(opened) == f"https://t.me/c/1000000001/{opened.thread}"
