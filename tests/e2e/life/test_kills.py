"""kill -9 while a question waits and while words grow: on every platform what is seen besides text is put right too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest

from tests.chaos.oracle import taken_back
from tests.chaos.places import Shown
from tests.e2e.gateway_process import ROOT, gateway, key_in
from tests.e2e.platforms.test_discord import discord_settings
from tests.e2e.platforms.test_slack import slack_settings
from tests.e2e.platforms.test_telegram import settings as telegram_settings
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.models.answers import Answers, Prompt
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.people import CHANNEL
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram import server as telegram_server
from tests.fakes.telegram.platform import TelegramPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SHOP = ROOT / "tests" / "e2e" / "programs" / "shop.pb"
OPEN = "The desk is open."
SHIPPED = "Shipped. It will be with you on Tuesday, or on Wednesday at the latest."
LIMIT_S = 90
PERSON = 601


class Place(Protocol):
    """One conversation; messages are (text, labels of choices)."""

    platform: Any

    def begin(self) -> None: ...
    def say(self, text: str) -> None: ...
    def messages(self) -> list[tuple[str, tuple[str, ...]]]: ...
    def press(self, label: str) -> None: ...


class Telegram:
    def __init__(self) -> None:
        self.platform = TelegramPlatform()

    def begin(self) -> None:
        self.say("hi")

    def say(self, text: str) -> None:
        self.platform.say(text, chat=PERSON, person=PERSON)

    def messages(self) -> list[tuple[str, tuple[str, ...]]]:
        shown = self.platform.messages(PERSON)
        return [(m.text, tuple(button["text"] for row in m.buttons for button in row)) for m in shown]

    def press(self, label: str) -> None:
        rows = [row for message in self.platform.messages(PERSON) for row in message.buttons]
        data = next(button["callback_data"] for row in rows for button in row if button["text"] == label)
        self.platform.press(data, chat=PERSON, person=PERSON)


class Slack:
    def __init__(self) -> None:
        self.platform = SlackPlatform()
        self._root = ""

    def begin(self) -> None:
        self._root = self.platform.mention("hi")

    def say(self, text: str) -> None:
        self.platform.say(text, thread=self._root)

    def messages(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(m.shown, _labels(m.blocks)) for m in self.platform.messages(CHANNEL)]

    def press(self, label: str) -> None:
        self.platform.press(label, next(m for m in self.platform.messages(CHANNEL) if _labels(m.blocks)))


class Discord:
    def __init__(self) -> None:
        self.platform = DiscordPlatform()
        self._where = self.platform.world.private()
        self._pressed = ""

    def begin(self) -> None:
        self.say("hi")

    def say(self, text: str) -> None:
        self.platform.world.say(text, self._where)

    def messages(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(m.text, m.choices) for m in self.platform.world.messages(self._where)]

    def press(self, label: str) -> None:
        asked = next(m for m in self.platform.world.messages(self._where) if m.choices)
        self._pressed = self.platform.world.press(self._where, asked.id, label)

    def taken(self) -> bool:
        """Discord repeats no press."""
        return bool(self.platform.world.backend.interactions[int(self._pressed)].responded)


def _labels(blocks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(e["text"]["text"] for block in blocks if block["type"] == "actions" for e in block["elements"])


async def until(place: Place, holds: Callable[[list[tuple[str, tuple[str, ...]]]], bool]) -> None:
    try:
        with anyio.fail_after(LIMIT_S):
            await place.platform.until(lambda: holds(place.messages()))
    except TimeoutError:
        raise AssertionError(f"there is {place.messages()}") from None


def said(text: str) -> Callable[[list[tuple[str, tuple[str, ...]]]], bool]:
    return lambda messages: any(text in shown for shown, _ in messages)


def nothing_to_press(messages: list[tuple[str, tuple[str, ...]]]) -> bool:
    return all(labels == () for _, labels in messages)


class Model:
    """Says what becomes of an order; until `slow` is over it stops in the middle, then it takes two seconds."""

    def __init__(self) -> None:
        self.slow = True
        self._answers = Answers({"say: .*what becomes of the order": self._words})

    @staticmethod
    def _words(prompt: Prompt) -> str:
        return SHIPPED if prompt.known("answer") == "Yes" else "Not shipped."

    def answer(self, request: Mapping[str, Any]) -> Reply:
        text = self._answers.reply(Prompt.read(request["messages"]))
        return Reply(text, hold_after_chars=40 if self.slow else None, chunk_delay_s=0.0 if self.slow else 0.25)


class Reader:
    """Somebody who sees every state of a place, and what of it was taken away to be shown again."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._seen: list[Shown] = []
        self.taken_back: list[str] = []

    async def read(self) -> None:
        """Until cancelled."""
        await self._place.platform.until(self._look)

    def _look(self) -> bool:
        seen = [Shown(text) for text, _ in self._place.messages()]
        self.taken_back += taken_back(self._seen, seen)
        self._seen = seen
        return False


async def test_a_question_and_words_around_kills_are_seen_once_on_every_platform(tmp_path: Path) -> None:
    telegram, slack, discord = Telegram(), Slack(), Discord()
    places: list[Place] = [telegram, slack, discord]
    model = Model()
    async with (
        OpenAIServer(model.answer) as server,
        telegram_server.serving(telegram.platform) as first,
        slack_server.serving(slack.platform) as second,
        discord_wire.serving(discord.platform) as third,
    ):
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": server.base_url,
            **key_in(tmp_path),
            "PARLEY_LOGS__LEVEL": "debug",
            **telegram_settings(first, PARLEY_TELEGRAM__ACCESS="open"),
            **slack_settings(slack.platform, second, PARLEY_SLACK__ACCESS="open"),
            **discord_settings(third),
        }
        async with gateway(tmp_path, SHOP, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await discord.platform.until(lambda: discord.platform.gateway.connected)
            for place in places:
                place.begin()
            for place in places:
                await until(place, said(OPEN))
                place.say("ship")
            for place in places:
                await until(place, lambda messages: any(labels == ("Yes", "No") for _, labels in messages))
            running.kill()
            await running.gone()
            await running.start()
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("slack")
                await discord.platform.until(lambda: discord.platform.gateway.connected)
            for place in places:
                await until(place, lambda messages: any(labels == ("Yes", "No") for _, labels in messages))
                place.press("Yes")
            for place in places:
                await until(place, said("Shipped. It will be with you on"))
            await until(discord, lambda _: discord.taken())
            await running.prints('"page.sent"', times=len(places))  # else a copy is allowed where there are no nonces
            running.kill()
            await running.gone()
            model.slow = False
            readers = [Reader(place) for place in places]
            async with anyio.create_task_group() as reading:
                for reader in readers:
                    reading.start_soon(reader.read)
                await running.start()
                for place in places:
                    await until(place, said(SHIPPED))
                    await until(place, nothing_to_press)
                reading.cancel_scope.cancel()
            assert [reader.taken_back for reader in readers] == [[], [], []]
            for place in places:
                texts = [text for text, _ in place.messages()]
                assert [sum(part in text for text in texts) for part in (OPEN, "Ship the order?")] == [1, 1]
                assert sum("Shipped" in text for text in texts) == 1
