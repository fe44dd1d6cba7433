"""Threads that the app opens: what Slack does, refuses and loses then."""

from __future__ import annotations

import pytest

from adapters.slack.adapter import SlackAdapter
from runtime.core.errors import OutcomeUncertain
from tests.contract.slack.speaking import ADA, US, thread
from tests.fakes.slack.people import CHANNEL
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio


async def test_a_thread_begins_with_a_message_that_names_it(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    [root] = platform.messages()
    assert (root.shown, root.thread_ts, opened) == ("Another way", None, thread(root.ts))


async def test_a_thread_whose_opening_was_not_answered_is_found(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.open_thread(US, "Another way", nonce="f.1")
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    [root] = platform.messages()
    assert opened == thread(root.ts)


async def test_a_direct_conversation_has_threads(adapter: SlackAdapter) -> None:
    opened = await adapter.open_thread(ADA, "Another way", nonce="f.1")
    assert opened is not None
    assert (opened.conversation, opened.thread is not None) == (ADA.conversation, True)


async def test_where_the_app_may_not_post_no_thread_is_opened(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "refuse", error="restricted_action")
    assert await adapter.open_thread(US, "Another way", nonce="f.1") is None


async def test_the_link_is_the_one_that_slack_tells(adapter: SlackAdapter) -> None:
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    assert opened is not None
    assert opened.thread is not None
    assert (
        await adapter.link(opened)
        == f"https://engines.slack.example/archives/{CHANNEL}/p{opened.thread.replace('.', '')}"
    )
    assert await adapter.link(US) is None
