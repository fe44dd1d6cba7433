"""Agents speak under their own names: through webhooks, or under headings where those are not permitted."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import aclosing
from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.discord.limits import CAPABILITIES, HOOKS_PER_CHANNEL
from adapters.discord.outbound.webhooks import KEPT_ANSWERED
from runtime.core.address import GATEWAY, Speaker
from runtime.core.errors import MessageGone, OutcomeUncertain, RateLimited
from tests.contract.discord.speaking import GUEST, HOST, edit, general, new_adapter, private, send
from tests.fakes.clock import WrongClock
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import DiscordPlatform, FaultKind
from tests.fakes.discord.world import MAX_HOOKS
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio


async def test_agents_speak_under_their_names_and_are_spread_over_a_few_webhooks(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    us = general(platform)
    for number in range(12):
        speaker = Speaker(str(1000 + number % 6), f"Agent {number % 6}")
        await send(adapter, "hi", to=us, speaker=speaker, nonce=f"{number}.0")
    await send(adapter, "a notice", to=us, speaker=GATEWAY, nonce="notice.0")
    *said, notice = platform.world.messages(platform.world.general)
    assert [each.author for each in said] == [f"Agent {number % 6}" for number in range(12)]
    assert (notice.author, notice.hook) == ("TestBot", None)
    assert Counter(each.hook for each in said) == dict.fromkeys({each.hook for each in said}, 4)
    assert len({each.hook for each in said}) == HOOKS_PER_CHANNEL == len(platform.calls_of("make_hook"))


async def test_one_agent_needs_one_webhook(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    for number in range(3):
        await send(adapter, "hi", to=general(platform), nonce=f"{number}.0")
    assert len(platform.calls_of("make_hook")) == 1


async def test_agents_share_what_webhooks_there_are_where_a_channel_is_full_of_them(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    for number in range(MAX_HOOKS - 1):
        world.backend.create_webhook(int(world.general), f"News {number}", world.ada.id)
    for speaker in (HOST, GUEST):
        await send(adapter, "hi", to=general(platform), speaker=speaker, nonce=f"{speaker.id}.0")
    said = world.messages(world.general)
    assert [each.author for each in said] == ["Host", "Guest"]
    assert len({each.hook for each in said}) == 1


async def test_agents_have_their_pictures(options: DiscordOptions, platform: DiscordPlatform) -> None:
    wanted = replace(options, avatar_url="https://example.org/{name}.png")
    async with aclosing(new_adapter(wanted)) as adapter:
        await send(adapter, "hi", to=general(platform), speaker=Speaker("1000", "The Host"))
    [posted] = platform.world.messages(platform.world.general)
    assert posted.picture == "https://example.org/The%20Host.png"


async def test_private_answer_is_the_bots_own(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    await send(adapter, "hi", to=private(platform))
    assert [(each.author, each.text) for each in platform.world.messages(platform.world.private())] == [
        ("TestBot", "hi")
    ]


async def test_webhook_is_found_again_after_a_restart_and_its_messages_can_be_edited(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    us = general(platform)
    async with aclosing(new_adapter(options)) as adapter:
        message = await send(adapter, "one", to=us)
    async with aclosing(new_adapter(options)) as adapter:
        await edit(adapter, message, "two", to=us)
        await send(adapter, "three", to=us, nonce="b.0")
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["two", "three"]
    assert len(platform.calls_of("make_hook")) == 1


async def test_webhook_speaks_in_the_thread_and_the_bot_joins_it(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    thread = platform.world.thread("Plans")
    there = replace(general(platform), thread=thread)
    message = await send(adapter, "one", to=there)
    await edit(adapter, message, "two", to=there)
    await send(adapter, "three", to=there, nonce="b.0")
    assert [(each.author, each.text) for each in platform.world.messages(thread)] == [
        ("Host", "two"),
        ("Host", "three"),
    ]
    assert [call.path for call in platform.calls_of("join")] == [f"/channels/{thread}/thread-members/@me"]


async def test_token_of_the_bot_is_not_sent_with_a_webhooks(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    await send(adapter, "one", to=general(platform))
    assert [call.authorized for call in platform.calls_of("hook_send")] == [False]
    assert all(call.authorized for call in platform.calls if call.operation != "hook_send")


async def test_where_webhooks_are_forbidden_the_name_is_a_heading(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.world.forbid("manage_webhooks")
    us = general(platform)
    message = await send(adapter, "hi", to=us)
    await edit(adapter, message, "hi there", to=us)
    await send(adapter, "ho", to=us, speaker=GUEST, nonce="b.0")
    assert [(each.author, each.text) for each in platform.world.messages(platform.world.general)] == [
        ("TestBot", "**Host**\nhi there"),
        ("TestBot", "**Guest**\nho"),
    ]
    assert len(platform.calls_of("hooks")) == 1
    assert adapter.budget(us)[1] == CAPABILITIES.group_budget


@pytest.mark.parametrize(("show_names", "text"), [("headings", "**Host**\nhi"), ("never", "hi")])
async def test_webhooks_can_be_left_alone(
    options: DiscordOptions, platform: DiscordPlatform, show_names: str, text: str
) -> None:
    async with aclosing(new_adapter(replace(options, show_names=show_names))) as adapter:
        await send(adapter, "hi", to=general(platform))
    assert [(each.author, each.text) for each in platform.world.messages(platform.world.general)] == [("TestBot", text)]


@pytest.mark.parametrize("name", ["Discord Helper", "CLYDE", "x" * 200, "  "])
async def test_name_that_discord_refuses_is_changed(
    adapter: DiscordAdapter, platform: DiscordPlatform, name: str
) -> None:
    await send(adapter, "hi", to=general(platform), speaker=Speaker("1000", name))
    [posted] = platform.world.messages(platform.world.general)
    assert posted.hook is not None
    assert 1 <= len(posted.author) <= 80


async def test_webhooks_that_do_not_tell_their_application_are_found_again(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    platform.world.tells_applications = False
    for number in range(3):
        async with aclosing(new_adapter(options)) as adapter:
            await send(adapter, "hi", to=general(platform), nonce=f"{number}.0")
    assert len(platform.calls_of("make_hook")) == 1


async def test_text_that_stands_whole_is_not_said_anew_when_its_webhook_is_gone(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    said = await send(adapter, "one two", to=general(platform))
    platform.world.backend.delete_webhook(int(said.partition("@")[2]))
    await adapter.edit(general(platform), said, "one two", speaker=HOST, nonce="page.0", final=True)
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["one two"]


@pytest.mark.parametrize("may", [True, False])
async def test_text_whose_webhook_is_gone_makes_way_where_the_bot_may_and_the_log_says_so(
    may: bool, adapter: DiscordAdapter, platform: DiscordPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    if not may:
        platform.world.forbid("manage_messages")
    said = await send(adapter, "one", to=general(platform))
    platform.world.backend.delete_webhook(int(said.partition("@")[2]))
    with caplog.at_level(logging.WARNING, "adapters.discord"), pytest.raises(MessageGone):
        await edit(adapter, said, "one two", to=general(platform))
    [told] = [record for record in caplog.records if "webhook of ours was deleted" in record.msg]
    assert vars(told)["taken_away"] is may
    assert [each.text for each in platform.world.messages(platform.world.general)] == ([] if may else ["one"])


async def test_deleted_webhook_is_made_anew(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    us = general(platform)
    first = await send(adapter, "one", to=us)
    platform.world.backend.delete_webhook(int(first.partition("@")[2]))
    with pytest.raises(MessageGone):
        await edit(adapter, first, "two", to=us)
    await send(adapter, "two", to=us, nonce="b.0")
    platform.world.backend.delete_webhook(int(platform.world.messages(platform.world.general)[-1].hook or 0))
    last = await send(adapter, "three", to=us, nonce="c.0")
    assert last.partition("@")[2] not in first
    assert platform.world.messages(platform.world.general)[-1].text == "three"


@pytest.mark.parametrize("kind", ["bad_gateway", "drop"])
@pytest.mark.parametrize("applied", [True, False])
async def test_uncertain_post_of_a_webhook_is_looked_for_before_it_is_repeated(
    adapter: DiscordAdapter, platform: DiscordPlatform, kind: FaultKind, applied: bool
) -> None:
    us = general(platform)
    same = await send(adapter, "hi", to=us, nonce="before.0")
    platform.fail("hook_send", kind, applied=applied)
    with pytest.raises(OutcomeUncertain):
        await send(adapter, "hi", to=us)
    assert len(platform.calls_of("hook_send")) == 2
    message = await send(adapter, "hi there", to=us)
    if applied:
        await edit(adapter, message, "hi there", to=us)
    said = platform.world.messages(platform.world.general)
    assert [each.text for each in said] == ["hi", "hi there"]
    assert [f"{each.id}@{each.hook}" for each in said] == [same, message]


async def test_post_of_a_webhook_is_found_though_our_clock_was_put_forward_since_the_last_answer(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    us, clock = general(platform), WrongClock(0.0)
    async with aclosing(new_adapter(options, clock=clock)) as adapter:
        await send(adapter, "hi", to=us, nonce="before.0")
        clock.set_calendar(7200)
        platform.fail("hook_send", "drop", applied=True)
        with pytest.raises(OutcomeUncertain):
            await send(adapter, "hi there", to=us)
        await send(adapter, "hi there", to=us)
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["hi", "hi there"]


@pytest.mark.parametrize("ahead_s", [7200.0, -7200.0])
async def test_post_of_a_webhook_is_looked_for_by_discords_clock(
    options: DiscordOptions, platform: DiscordPlatform, ahead_s: float
) -> None:
    us = general(platform)
    async with aclosing(new_adapter(options, clock=WrongClock(ahead_s))) as adapter:
        await send(adapter, "hi", to=us, nonce="before.0")
        platform.fail("hook_send", "drop", applied=True)
        with pytest.raises(OutcomeUncertain):
            await send(adapter, "hi there", to=us)
        await send(adapter, "hi there", to=us)
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["hi", "hi there"]


async def test_webhooks_of_a_channel_are_held_by_their_headers(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.limits = DiscordLimits()
    for n in range(5):
        await send(adapter, str(n), to=general(platform), speaker=HOST, nonce=f"page.{n}")
    with pytest.raises(RateLimited) as caught:
        await send(adapter, "too much", to=general(platform), nonce="page.5")
    assert 0 < caught.value.retry_after_s <= 2
    assert {call.status for call in platform.calls} == {200} | {call.status for call in platform.calls_of("join")}


@pytest.mark.parametrize("applied", [True, False])
async def test_post_of_a_webhook_that_a_crash_cut_off_is_there_once(
    options: DiscordOptions, platform: DiscordPlatform, applied: bool
) -> None:
    us, posts = general(platform), MemoryRecords()
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        await send(adapter, "hi", to=us, nonce="before.0")
        platform.fail("hook_send", "hang", applied=applied)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(send, adapter, "hi", to=us))
            await platform.until(lambda: len(platform.calls_of("hook_send")) == 2)
            tasks.cancel_scope.cancel()
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        message = await send(adapter, "hi there", to=us)
    said = platform.world.messages(platform.world.general)
    assert [each.text for each in said] == ["hi", "hi there"]
    assert said[1].id == message.partition("@")[0]


async def test_posts_that_were_answered_long_ago_are_forgotten(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    posts = MemoryRecords()
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        for number in range(KEPT_ANSWERED + 5):
            await send(adapter, "hi", to=general(platform), nonce=f"{number}.0")
    assert set(posts.records) == {f"{number}.0" for number in range(5, KEPT_ANSWERED + 5)}


async def test_post_whose_answer_came_and_was_not_written_down_is_found_after_a_restart(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    posts = MemoryRecords()
    us = general(platform)
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        first = await send(adapter, "said once", to=us, nonce="1.0")
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        assert await send(adapter, "said once", to=us, nonce="1.0") == first
        await send(adapter, "said once", to=us, nonce="2.0")
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["said once"] * 2


async def test_what_another_node_has_posted_through_a_webhook_is_found_where_it_is_in_doubt(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    us, posts = general(platform), MemoryRecords()
    async with (
        aclosing(new_adapter(options, posts=posts)) as adapter,
        aclosing(new_adapter(options, posts=posts)) as other,
    ):
        await send(adapter, "at once", to=us, nonce="1.0")
        for agent in range(8):  # one of them has a webhook that the first node does not know
            speaker = Speaker(f"agent {agent}", "Agent")
            posted = await send(other, "meanwhile", to=us, nonce=f"2.{agent}", speaker=speaker)
            adapter.doubt(f"2.{agent}")
            assert await send(adapter, "meanwhile", to=us, nonce=f"2.{agent}", speaker=speaker) == posted
    assert [each.text for each in platform.world.messages(platform.world.general)] == ["at once", *["meanwhile"] * 8]


async def test_no_webhook_posts_where_the_lease_ended_while_an_earlier_copy_was_looked_for(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    us, posts, away = general(platform), MemoryRecords(), [True, False]
    async with aclosing(new_adapter(options, posts=posts)) as adapter:
        platform.fail("hook_send", "hang")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(send, adapter, "once", to=us))
            await platform.until(lambda: len(platform.calls_of("hook_send")) == 1)
            tasks.cancel_scope.cancel()
        adapter.unless("page.0", lambda: away.pop(0))
        with pytest.raises(OutcomeUncertain, match="another node"):
            await send(adapter, "once", to=us)
        assert platform.world.messages(platform.world.general) == []
        await send(adapter, "once", to=us)
    assert (len(platform.world.messages(platform.world.general)), away) == (1, [])
