"""Many messages to several chats at once while answers get lost: each stands once, or it is told that it may not."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import anyio
import pytest

from adapters.telegram.adapter import TelegramAdapter
from runtime.core.address import Address
from runtime.core.errors import OutcomeUncertain
from tests.contract.telegram.speaking import ADA, HOST, US, send
from tests.fakes.telegram.platform import TelegramPlatform

pytestmark = pytest.mark.anyio

EVE = Address("telegram", "43")
CHATS = (ADA, EVE, US)
SAID = 12


class Storm:
    """Chats in which everything is said until it stands; `doubtful` are texts of which a copy may be left."""

    def __init__(self, adapter: TelegramAdapter, platform: TelegramPlatform, seed: int) -> None:
        self.adapter, self.platform = adapter, platform
        self.chance = random.Random(seed)
        self.doubtful: set[str] = set()

    async def say_all(self, to: Address) -> None:
        for number in range(SAID):
            if self.chance.random() < 0.3:
                self.platform.say("somebody's own", chat=int(to.conversation))
            await self._say(to, f"Host {to.conversation}:{number}.")

    async def _say(self, to: Address, text: str) -> None:
        while True:
            if self.chance.random() < 0.3:
                method = "editMessageText" if self.adapter.searches(to, text, speaker=HOST) else "sendMessage"
                self.platform.fail(method, "bad_gateway", applied=self.chance.random() < 0.6)
            with suppress(OutcomeUncertain):
                if await self._stands(to, text):
                    break
        if self.adapter.left_copy(to, text, speaker=HOST):
            self.doubtful.add(text)

    async def _stands(self, to: Address, text: str) -> bool:
        if self.adapter.searches(to, text, speaker=HOST):
            return await self.adapter.recover(to, text, speaker=HOST, nonce=text) is not None
        await self.adapter.send(to, text, speaker=HOST, nonce=text, final=False)
        return True


@pytest.mark.parametrize("seed", range(4))
async def test_every_text_stands_once_or_is_told_of(
    adapter: TelegramAdapter, platform: TelegramPlatform, seed: int
) -> None:
    for chat in CHATS:
        platform.chats.open(int(chat.conversation))
        await send(adapter, "before", to=chat)
    storm = Storm(adapter, platform, seed)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for chat in CHATS:
                tasks.start_soon(storm.say_all, chat)
    shown = Counter(
        message.text.removeprefix("Host\n").replace("\u00a0", " ")  # a repeated edit has one
        for chat in CHATS
        for message in platform.messages(int(chat.conversation))
    )
    said = {f"Host {chat.conversation}:{number}." for chat in CHATS for number in range(SAID)}
    assert set(shown) - {"before"} == said
    assert {text for text in said if shown[text] > 1} <= storm.doubtful
    lost = [call for call in platform.calls_of("sendMessage") if call.status == 502]
    assert len(storm.doubtful) < len(lost)
