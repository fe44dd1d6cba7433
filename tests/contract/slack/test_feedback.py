"""Thumbs below answers on Slack: where they stand, what a press of one is, and what happens where Slack has none."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.slack.adapter import SlackAdapter, SlackOptions
from runtime.core.address import GATEWAY
from runtime.core.errors import BadMarkup
from runtime.core.message import Choice
from tests.contract.slack.speaking import HOST, US, edit, new_adapter, send, thread
from tests.fakes.slack.conversations import Posted
from tests.fakes.slack.people import FRIEND
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio


def _has_thumbs(posted: Posted) -> bool:
    return any(block["type"] == "context_actions" for block in posted.blocks)


async def test_an_answer_gets_thumbs_when_it_is_whole(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    message = await adapter.send(US, "It is", speaker=HOST, nonce="a", final=False)
    [posted] = platform.messages()
    assert not _has_thumbs(posted)
    await edit(adapter, message, "It is four.", to=US, final=True)
    assert _has_thumbs(posted)
    assert posted.shown == "It is four."


async def test_a_stream_gets_thumbs_when_it_ends(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
    to = thread(root)
    stream = await adapter.open_stream(to, "It ", speaker=HOST, nonce="s")
    await adapter.close_stream(to, stream, "is four.", speaker=HOST)
    [posted] = platform.messages()
    assert _has_thumbs(posted)
    assert posted.text == "It is four."


async def test_notices_and_questions_get_none(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    await send(adapter, "A notice.", to=US, speaker=GATEWAY)
    message = await adapter.send(US, "Ship it?", speaker=HOST, nonce="q", final=False)
    await adapter.offer(US, message, "Ship it?", [Choice("a", "Yes")], speaker=HOST, nonce="q")
    assert [_has_thumbs(posted) for posted in platform.messages()] == [False, False]


async def test_a_press_is_a_reaction_that_rates_and_another_press_another(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    await send(adapter, "It is four.", to=thread(root))
    [posted] = platform.messages()
    async with adapter.connect() as inbound:
        await anext(inbound)
        platform.rate(posted, up=True, person=FRIEND)
        platform.rate(posted, up=False, person=FRIEND)
        up, down = await anext(inbound), await anext(inbound)
    assert (up.act, up.rating, up.text, up.message_id) == ("reaction", "up", "👍", posted.ts)
    assert (up.address, up.person_id, up.addressed) == (thread(root), f"slack:T0001:{FRIEND}", True)
    assert (down.rating, down.text) == ("down", "👎")
    assert up.event_id != down.event_id


async def test_a_thumb_among_the_reactions_rates_and_another_mark_does_not(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    await send(adapter, "It is four.", to=US)
    [posted] = platform.messages()
    async with adapter.connect() as inbound:
        for name, gone in (("+1", False), ("eyes", False), ("eyes", True), ("+1", True), ("thumbsdown", False)):
            platform.react(name, posted.ts, gone=gone)
        heard = [await anext(inbound) for _ in range(5)]
    assert [each.rating for each in heard] == ["up", None, None, "not_up", "down"]


async def test_where_slack_has_no_thumbs_the_text_stands_without_and_they_are_not_tried_again(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.conversations.unknown_blocks.add("context_actions")
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
    stream = await adapter.open_stream(thread(root), "It ", speaker=HOST, nonce="s")
    await adapter.close_stream(thread(root), stream, "is four.", speaker=HOST)
    await send(adapter, "It is five.", to=US)
    assert [posted.shown for posted in platform.messages()] == ["It is four.", "It is five."]
    assert len(platform.calls_of("chat.stopStream")) == 2
    assert len(platform.calls_of("chat.postMessage")) == 1


async def test_a_text_that_slack_refuses_in_itself_costs_no_thumbs(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.fail("chat.postMessage", "refuse", error="invalid_blocks", times=2)
    with pytest.raises(BadMarkup):
        await send(adapter, "refused", to=US)
    await send(adapter, "taken", to=US, nonce="other")
    assert _has_thumbs(platform.messages()[-1])


async def test_the_setting_takes_them_away(options: SlackOptions, platform: SlackPlatform) -> None:
    async with aclosing(new_adapter(replace(options, thumbs=False))) as adapter:
        await send(adapter, "It is four.", to=US)
    assert not _has_thumbs(platform.messages()[-1])
