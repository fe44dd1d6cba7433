"""Task cards on Slack: what agents do for long, one card for each of them."""

from __future__ import annotations

import pytest

from adapters.slack.adapter import SlackAdapter
from runtime.core.address import Speaker
from runtime.core.errors import NotDelivered, OutcomeUncertain
from tests.contract.slack.speaking import HOST, thread
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio


async def test_long_work_of_two_agents_is_two_cards_under_their_names_that_change_and_go(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = thread(platform.mention("hello"))
    critic = Speaker("2", "Critic")
    first = await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "looks for faults", speaker=critic, nonce="n2")
    assert await adapter.show_task(to, "counts words", speaker=HOST, nonce="n1", card=first) == first
    cards = [(posted.username, [block["title"] for block in posted.blocks]) for posted in platform.messages()]
    assert cards == [("Host", ["counts words"]), ("Critic", ["looks for faults"])]
    assert {posted.thread_ts for posted in platform.messages()} == {to.thread}
    await adapter.delete(to, first, speaker=HOST)
    assert len(platform.messages()) == 1


async def test_a_card_whose_posting_was_unclear_is_there_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = thread(platform.mention("hello"))
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    assert len(platform.messages()) == 1


async def test_a_workspace_that_refuses_cards_is_asked_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.conversations.unknown_blocks.add("task_card")
    to = thread(platform.mention("hello"))
    for nonce in ("n1", "n2"):
        with pytest.raises(NotDelivered):
            await adapter.show_task(to, "reads the file", speaker=HOST, nonce=nonce)
    assert len(platform.calls_of("chat.postMessage")) == 1


async def test_there_is_no_card_beside_an_open_stream_which_shows_the_task_itself(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = thread(platform.mention("hello"))
    async with adapter.connect() as inbound:
        await anext(inbound)
    await adapter.open_stream(to, "So far", speaker=HOST, nonce="s")
    with pytest.raises(NotDelivered):
        await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "looks for faults", speaker=Speaker("2", "Critic"), nonce="n2")
    assert len(platform.calls_of("chat.postMessage")) == 1
