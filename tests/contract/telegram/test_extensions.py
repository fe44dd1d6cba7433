"""Extensions get python-telegram-bot's bot, and send with it what Parley has no call for."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from msgspec.structs import replace
from telegram import Bot

from adapters.telegram.options import TelegramOptions
from tests.contract.telegram.speaking import new_adapter
from tests.fakes.telegram.platform import PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio


async def test_extension_answers_a_message_with_the_bot_once_for_all_connections(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    bots: list[Bot] = []

    async def hand_over(bot: Bot) -> None:
        bots.append(bot)

    async with aclosing(new_adapter(replace(options, hands_over=hand_over))) as adapter:
        for text in ("one", "two"):
            async with adapter.connect() as inbound:
                platform.say(text)
                while (await anext(inbound)).text != text:
                    pass
                await bots[0].send_message(PERSON, f"heard {text}")
    assert [message.text for message in platform.messages(PERSON)] == ["heard one", "heard two"]
    assert len(bots) == 1
