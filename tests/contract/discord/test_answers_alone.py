"""Answers to commands from the menu, which Discord shows to who gave them alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.message import Choice
from tests.contract.discord.speaking import HOST, general, listening, new_adapter, private
from tests.fakes.clock import FakeClock
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio


async def given(platform: DiscordPlatform, inbound: AsyncIterator[Inbound], channel: str | None = None) -> str:
    """Ada's command /status, once its receipt is there; the interaction."""
    chosen = platform.world.choose("status", channel)
    await anext(inbound)
    platform.world.say("next", channel)
    await anext(inbound)
    await platform.until(lambda: bool(platform.world.receipt(chosen)))
    return chosen


def ada(platform: DiscordPlatform) -> str:
    return f"discord:{platform.world.ada.id}"


async def test_an_answer_takes_the_place_of_the_receipt_and_nobody_else_sees_it(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        chosen = await given(platform, inbound)
        assert not await adapter.answer_alone(general(platform), f"discord:{platform.world.bob.id}", "Not Bob's.")
        assert await adapter.answer_alone(general(platform), ada(platform), "You used **2** models.")
        assert platform.world.receipt(chosen) == "You used **2** models."
        assert platform.world.backend.interactions[int(chosen)].ephemeral
        assert platform.world.messages(platform.world.general) == []
        assert not await adapter.answer_alone(general(platform), ada(platform), "Nothing was asked.")


async def test_two_commands_have_an_answer_each(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        first, second = await given(platform, inbound), await given(platform, inbound)
        for text in ("one", "two"):
            assert await adapter.answer_alone(general(platform), ada(platform), text)
    assert [platform.world.receipt(each) for each in (first, second)] == ["one", "two"]


async def test_a_long_answer_goes_on_in_further_messages_for_this_person(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    lines = [f"Agent {number} waits for an answer." for number in range(150)]
    async with listening(adapter, platform) as inbound:
        chosen = await given(platform, inbound)
        assert await adapter.answer_alone(general(platform), ada(platform), "\n".join(lines))
    further = platform.calls_of("hook_send")
    assert {call.body["flags"] & 64 for call in further} == {64}
    shown = [platform.world.receipt(chosen) or "", *(call.body["content"] for call in further)]
    assert "\n".join(shown).split("\n") == lines
    assert platform.world.messages(platform.world.general) == []


async def test_an_answer_that_comes_too_late_for_discord_is_for_everybody(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    clock = FakeClock()
    async with aclosing(new_adapter(options, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        await given(platform, inbound)
        await clock.advance(15 * 60.0)
        assert not await adapter.answer_alone(general(platform), ada(platform), "Late.")


async def test_in_private_an_answer_is_a_message_like_all_and_presses_are_not_answered_so(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        await given(platform, inbound, platform.world.private())
        assert not await adapter.answer_alone(private(platform), ada(platform), "Yours.")
        text, choices = "Ship it?", [Choice("yes", "Yes")]
        message = await adapter.send(general(platform), text, speaker=HOST, nonce="n", final=True)
        await adapter.offer(general(platform), message, text, choices, speaker=HOST, nonce="n")
        platform.world.press(platform.world.general, message.partition("@")[0], "Yes")
        await anext(inbound)
        assert not await adapter.answer_alone(general(platform), ada(platform), "Pressed.")
