"""Extensions add listeners of their own to discord.py's client, beside Parley's ear."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import discord
import pytest
from msgspec.structs import replace

from adapters.discord.adapter import DiscordOptions
from tests.contract.discord.speaking import listening, new_adapter
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio


async def test_listener_hears_what_parley_hears_and_ends_nothing_when_it_raises(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    heard: list[str] = []
    twice = anyio.Event()

    async def hand_over(client: discord.Client) -> None:
        @client.event
        async def on_message(message: discord.Message) -> None:
            heard.append(message.content)
            if len(heard) == 2:
                twice.set()
            raise KeyError("of the extension")

    async with (
        aclosing(new_adapter(replace(options, hands_over=hand_over))) as adapter,
        listening(adapter, platform) as inbound,
    ):
        for text in ("one", "two"):
            platform.world.say(text, platform.world.private())
        assert [(await anext(inbound)).text for _ in range(2)] == ["one", "two"]
        await twice.wait()
    assert heard == ["one", "two"]
