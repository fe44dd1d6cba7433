"""Messages and edits go out, and every way to fail has one of our names."""

from __future__ import annotations

import socket
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.address import GATEWAY, Address
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)
from tests.contract.discord.speaking import edit, general, new_adapter, private, send
from tests.fakes.clock import HastyClock
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import DiscordPlatform, FaultKind

pytestmark = pytest.mark.anyio


async def test_text_arrives_and_edits_replace_it(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    ada = private(platform)
    message = await send(adapter, "a **b**", to=ada)
    await edit(adapter, message, "a **b** c", to=ada)
    [posted] = platform.world.messages(platform.world.private())
    assert (posted.id, posted.author, posted.history) == (message, "TestBot", ["a **b**", "a **b** c"])


async def test_an_edit_is_one_request_of_the_bot_and_of_a_webhook(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    for to in (private(platform), general(platform)):
        message = await send(adapter, "one", to=to)
        before = len(platform.calls)
        await edit(adapter, message, "two", to=to)
        await edit(adapter, message, "three", to=to)
        assert len(platform.calls) == before + 2


async def test_nobody_is_pinged_and_links_are_not_unfolded(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    text = f"@everyone @here <@{platform.world.ada.id}> <@&{platform.world.bot_role}>"
    await send(adapter, text, to=general(platform), speaker=GATEWAY)
    [posted] = platform.world.messages(platform.world.general)
    assert not posted.pings
    [call] = platform.calls_of("send")
    assert call.body["allowed_mentions"]["parse"] == []
    assert call.body["flags"] == 4


async def test_repeated_nonce_posts_once(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    ada = private(platform)
    one = await send(adapter, "one", to=ada, nonce="0123456789abcdef0123456789abcdef.0")
    again = await send(adapter, "one", to=ada, nonce="0123456789abcdef0123456789abcdef.0")
    other = await send(adapter, "one", to=ada, nonce="0123456789abcdef0123456789abcdef.1")
    assert one == again != other
    assert len(platform.world.messages(platform.world.private())) == 2


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage", "hang"])
@pytest.mark.parametrize("applied", [True, False])
async def test_broken_answer_leaves_the_outcome_uncertain_and_repeating_the_post_posts_once(
    options: DiscordOptions, platform: DiscordPlatform, kind: FaultKind, applied: bool
) -> None:
    platform.fail("send", kind, applied=applied)
    async with aclosing(new_adapter(replace(options, call_timeout_s=3.0 if kind == "hang" else 60.0))) as adapter:
        with pytest.raises(OutcomeUncertain):
            await send(adapter, "hi", to=private(platform))
        assert len(platform.world.messages(platform.world.private())) == applied
        assert len(platform.calls_of("send")) == 1
        message = await send(adapter, "hi", to=private(platform))
    assert [posted.id for posted in platform.world.messages(platform.world.private())] == [message]


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, 10008, MessageGone),
        (429, 30046, MessageGone),
        (400, 50083, MessageGone),
        (400, 50035, NotDelivered),
        (400, 160005, NotDelivered),
        (403, 50001, NotDelivered),
        (403, 50013, NotDelivered),
        (404, 10003, NotDelivered),
        (401, 0, NotDelivered),
        (500, 0, OutcomeUncertain),
        (524, 0, OutcomeUncertain),
    ],
)
async def test_refusals_are_told_in_our_words(
    adapter: DiscordAdapter, platform: DiscordPlatform, status: int, code: int, expected: type[AdapterError]
) -> None:
    message = await send(adapter, "one", to=private(platform))
    platform.fail("edit", "refuse", status=status, code=code)
    with pytest.raises(AdapterError) as caught:
        await edit(adapter, message, "two", to=private(platform))
    assert isinstance(caught.value, expected)
    assert len(platform.calls_of("edit")) == 1


async def test_missing_permission_is_named(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.fail("send", "refuse", status=403, code=50013)
    with pytest.raises(NotDelivered, match="lacks a permission"):
        await send(adapter, "hi", to=private(platform))


async def test_unknown_channel_gets_nothing(adapter: DiscordAdapter) -> None:
    with pytest.raises(NotDelivered, match="gone"):
        await send(adapter, "hi", to=Address("discord", "dm:777"))


async def test_server_that_cannot_be_reached_has_surely_not_got_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with aclosing(new_adapter(DiscordOptions(base_url=f"http://127.0.0.1:{port}/api/v10"))) as adapter:
        with pytest.raises(RateLimited, match="could not be reached"):
            await send(adapter, "hi", to=Address("discord", "dm:777"))


async def test_flood_tells_the_pause_and_nothing_is_repeated_or_called_meanwhile(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    platform.fail("send", "flood", retry_after_s=35)
    clock = HastyClock()
    async with aclosing(new_adapter(options, clock=clock)) as adapter:
        for _ in range(2):
            with pytest.raises(RateLimited) as caught:
                await send(adapter, "hi", to=private(platform))
            assert caught.value.retry_after_s == 35
        assert len(platform.calls) == 1
        await clock.sleep_until(35.0)
        await send(adapter, "hi", to=private(platform))
    assert clock.pauses_s == [35]


async def test_flood_of_the_whole_bot_holds_every_call(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.fail("send", "flood", retry_after_s=60, whole_bot=True)
    with pytest.raises(RateLimited):
        await send(adapter, "hi", to=private(platform))
    with pytest.raises(RateLimited):
        await adapter.typing(general(platform), GATEWAY)
    assert len(platform.calls) == 1


async def test_ban_by_the_guard_before_discord_holds_every_call(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.fail("send", "banned", retry_after_s=900)
    with pytest.raises(RateLimited):
        await send(adapter, "hi", to=private(platform))
    with pytest.raises(RateLimited) as caught:
        await adapter.typing(general(platform), GATEWAY)
    assert 899 < caught.value.retry_after_s <= 900


@pytest.mark.parametrize("told", [float("nan"), float("inf")])
async def test_pause_that_is_no_time_holds_calls_for_a_minute_and_not_for_ever(
    adapter: DiscordAdapter, platform: DiscordPlatform, told: float
) -> None:
    platform.fail("send", "banned", retry_after_s=told)
    with pytest.raises(RateLimited) as caught:
        await send(adapter, "hi", to=private(platform))
    assert caught.value.retry_after_s == 60


async def test_used_up_bucket_is_known_from_the_headers_before_it_is_refused(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.limits = DiscordLimits()
    ada = private(platform)
    message = await send(adapter, "0", to=ada)
    for n in range(5):
        await edit(adapter, message, str(n + 1), to=ada)
    with pytest.raises(RateLimited) as caught:
        await edit(adapter, message, "too much", to=ada)
    assert 0 < caught.value.retry_after_s <= 5
    assert [call.status for call in platform.calls] == [200] * 6
    await send(adapter, "another bucket", to=ada, nonce="page.1")


async def test_channels_do_not_share_a_bucket(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.limits = DiscordLimits()
    for n in range(5):
        await send(adapter, str(n), to=private(platform), nonce=f"page.{n}")
    await send(adapter, "elsewhere", to=general(platform), speaker=GATEWAY, nonce="page.9")
    with pytest.raises(RateLimited):
        await send(adapter, "too much", to=private(platform), nonce="page.8")
    assert {call.status for call in platform.calls} == {200}


async def test_typing_is_shown_in_the_thread(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    thread = platform.world.thread("Plans")
    await adapter.typing(replace(general(platform), thread=thread), GATEWAY)
    assert platform.world.typing == [thread]


async def test_check_says_who_the_bot_is_and_how_to_invite_it(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    said = await adapter.check()
    assert "TestBot" in said
    assert f"client_id={platform.world.backend.application_id}&" in said


async def test_right_that_is_missing_in_a_server_is_told(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.world.forbid("manage_webhooks", "add_reactions")
    assert "In Us the bot lacks Manage Webhooks, Add Reactions" in await adapter.check()
    platform.world.forbid("send_messages")
    with pytest.raises(AuthFailed, match="In Us the bot lacks Send Messages"):
        await adapter.check()


async def test_one_person_is_told_alone_in_private(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    await adapter.tell_alone(general(platform), f"discord:{world.bob.id}", "Ask Ada.")
    assert [posted.text for posted in world.messages(world.private(world.bob))] == ["Ask Ada."]
    assert world.messages(world.general) == []
