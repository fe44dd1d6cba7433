"""What is shown is what was said: verified, within the limits, pinging nobody but those it mentions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.adapter import Call, CountsByMethod
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.discord.limits import CAPABILITIES, CHANNEL_BUDGET, within
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.errors import MessageGone, ShownDiffers
from tests.contract.discord.speaking import GUEST, HOST, edit, general, new_adapter, private, send
from tests.fakes.clock import FakeClock
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import DiscordPlatform, serving

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", [private, general])
async def test_final_text_that_discord_shows_differently_is_an_error(
    adapter: DiscordAdapter, platform: DiscordPlatform, place: Callable[[DiscordPlatform], Address]
) -> None:
    to = place(platform)
    kind = "edit" if place is private else "hook_edit"
    message = await send(adapter, "one", to=to)
    platform.fail(kind, "other_text", times=2)
    with pytest.raises(ShownDiffers):
        await adapter.edit(to, message, "two", speaker=HOST, nonce="page.0", final=True)
    await adapter.edit(to, message, "two", speaker=HOST, nonce="page.0", final=False)
    await adapter.edit(to, message, "  two\n", speaker=HOST, nonce="page.0", final=True)
    assert platform.world.messages(to.conversation.removeprefix("dm:"))[0].text.strip() == "two"


async def test_final_text_of_a_post_that_was_known_already_replaces_what_was_posted(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    ada = private(platform)
    one = await adapter.send(ada, "the beg", speaker=HOST, nonce="page.0", final=False)
    two = await adapter.send(ada, "the beginning and the end", speaker=HOST, nonce="page.0", final=True)
    assert one == two
    assert [each.text for each in platform.world.messages(platform.world.private())] == ["the beginning and the end"]


@pytest.mark.parametrize("place", [private, general])
async def test_growing_message_that_is_too_old_makes_way_for_a_new_one(
    anyio_backend: str, place: Callable[[DiscordPlatform], Address]
) -> None:
    clock = FakeClock()
    platform = DiscordPlatform(clock=clock)
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10")
        async with aclosing(new_adapter(options, clock=clock)) as adapter:
            to = place(platform)
            channel = to.conversation.removeprefix("dm:")
            message = await send(adapter, "one", to=to)
            await clock.advance((CAPABILITIES.editable_for_s or 0) - 1)
            await edit(adapter, message, "two", to=to)
            await clock.advance(2)
            await adapter.edit(to, message, "three", speaker=HOST, nonce="page.0", final=True)
            assert [each.text for each in platform.world.messages(channel)] == ["three"]
            with pytest.raises(MessageGone, match="makes way"):
                await edit(adapter, message, "four", to=to)
    assert platform.world.messages(channel) == []


async def test_message_that_takes_no_more_edits_makes_way(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    message = await send(adapter, "one", to=private(platform))
    platform.fail("edit", "refuse", status=429, code=30046)
    with pytest.raises(MessageGone, match="makes way"):
        await adapter.edit(private(platform), message, "two", speaker=HOST, nonce="page.0", final=True)
    assert platform.world.messages(platform.world.private()) == []


async def test_person_is_pinged_by_a_link_and_nobody_else(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    ada, bob = platform.world.ada.id, platform.world.bob.id
    for to, nonce in ((general(platform), "a.0"), (private(platform), "b.0")):
        await send(adapter, f"[@Ada](person:discord:{ada}) and <@{bob}>, @everyone", to=to, nonce=nonce)
    for channel in (platform.world.general, platform.world.private()):
        message = next(reversed(platform.world.backend.messages[int(channel)].values()))
        assert message.content == f"<@{ada}> and <@\u200b{bob}>, @\u200beveryone"
    said = next(reversed(platform.world.backend.messages[int(platform.world.general)].values()))
    assert list(said.ping_user_ids) == [ada]


async def test_posting_and_editing_and_each_webhook_have_buckets_of_their_own(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    assert isinstance(adapter, CountsByMethod)
    us, ada = general(platform), private(platform)
    calls: list[tuple[Call, Address, Speaker]] = [
        ("send", us, HOST),
        ("edit", us, HOST),
        ("upload", us, GUEST),
        ("offer", ada, HOST),
    ]
    keys = {call: [key for key, _ in adapter.draws(to, call, speaker=speaker)] for call, to, speaker in calls}
    assert len({keys["send"][0], keys["edit"][0], keys["upload"][0], keys["offer"][0]}) == 4
    assert keys["send"][1] == keys["upload"][1]
    assert adapter.draws(replace(us, thread="9"), "send", speaker=HOST) == adapter.draws(us, "send", speaker=HOST)
    assert adapter.draws(us, "send", speaker=GATEWAY)[0] == (f"discord:{us.conversation}:post", CHANNEL_BUDGET)


async def test_size_of_a_bucket_is_what_discord_told(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.limits = DiscordLimits()
    await send(adapter, "one", to=general(platform))
    [(_, size), _] = adapter.draws(general(platform), "send", speaker=HOST)
    assert size == within(5, 2.0)
