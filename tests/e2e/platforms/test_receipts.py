"""A photo of a receipt reaches the model as a picture, from every platform, and what it amounts to comes back."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from PIL import Image

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, Room, gateway
from tests.e2e.platforms.test_discord import discord_settings
from tests.e2e.platforms.test_slack import slack_settings
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.people import DIRECT
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram import server as telegram_server
from tests.fakes.telegram.platform import PERSON, TOKEN, TelegramPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

RECEIPT = ROOT / "tests" / "e2e" / "programs" / "receipt.pb"
ASKS = "Please send me a photo of the receipt."
FIRST, SECOND = "It is 42.50 EUR.", "It is 7.00 EUR."
AMOUNTS = {(120, 200): FIRST, (300, 100): SECOND}
"""What the model reads on a picture, by the picture's size."""


def photo(width: int, height: int, *, turned: int = 1) -> bytes:
    """A picture as a camera writes it; `turned` is its orientation."""
    written = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = turned
    Image.new("RGB", (width, height), "white").save(written, "JPEG", exif=exif)
    return written.getvalue()


def pictures(request: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The sizes of the pictures in a request, in order."""
    contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    urls = [part["image_url"]["url"] for content in contents for part in content if part["type"] == "image_url"]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size for url in urls]


@dataclass
class Clerk:
    """The model: it asks for a photo, and says what the newest one amounts to; not before it may."""

    holds: bool = False
    asked: list[list[tuple[int, int]]] = field(default_factory=list)

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        seen = pictures(request)
        self.asked.append(seen)
        return Reply(AMOUNTS[seen[-1]], hold_before=self.holds) if seen else Reply(ASKS)


@dataclass
class Place:
    """One platform's conversation: how people write and send there, what they read, and when to look again."""

    say: Callable[[str], object]
    send: Callable[[bytes], object]
    texts: Callable[[], Sequence[str]]
    until: Callable[[Callable[[], bool]], Any]

    async def read(self, *texts: str) -> None:
        """Return when exactly these texts can be read."""
        try:
            with anyio.fail_after(SEEN_LIMIT_S):
                await self.until(lambda: list(self.texts()) == list(texts))
        except TimeoutError:
            raise AssertionError(f"{texts} were waited for, there is {self.texts()}") from None


class Platforms:
    """Telegram, Slack and Discord, each with one private conversation."""

    def __init__(self) -> None:
        self.telegram, self.slack, self.discord = TelegramPlatform(), SlackPlatform(), DiscordPlatform()
        self._dm, self._thread = self.discord.world.private(), ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[dict[str, str]]:
        """The settings of a gateway that hears them all."""
        async with AsyncExitStack() as stack:
            telegram = await stack.enter_async_context(telegram_server.serving(self.telegram))
            slack = await stack.enter_async_context(slack_server.serving(self.slack))
            discord = await stack.enter_async_context(discord_wire.serving(self.discord))
            yield {
                "PARLEY_TELEGRAM__TOKEN": TOKEN,
                "PARLEY_TELEGRAM__BASE_URL": f"{telegram}/bot",
                "PARLEY_TELEGRAM__ACCESS": "open",
                **slack_settings(self.slack, slack, PARLEY_SLACK__ACCESS="open"),
                **discord_settings(discord),
            }

    def places(self) -> list[Place]:
        return [
            Place(
                self.telegram.say,
                self._by_telegram,
                lambda: [message.text for message in self.telegram.messages(PERSON)],
                self.telegram.until,
            ),
            Place(
                self._in_slack,
                self._by_slack,
                lambda: [message.shown for message in self.slack.messages(DIRECT)],
                self.slack.until,
            ),
            Place(
                lambda text: self.discord.world.say(text, self._dm),
                lambda data: self.discord.world.say("", self._dm, files=[("receipt.jpg", data)]),
                lambda: [message.text for message in self.discord.world.messages(self._dm)],
                self.discord.until,
            ),
        ]

    def _by_telegram(self, data: bytes) -> None:
        file_id = f"photo{len(self.telegram.files)}"
        self.telegram.files[file_id] = data
        sizes = [
            {"file_id": f"small{file_id}", "width": 90, "height": 60},
            {"file_id": file_id, "width": 200, "height": 120},
        ]
        self.telegram.say(None, photo=sizes, caption="Here it is.")

    def _in_slack(self, text: str) -> None:
        self._thread = self.slack.say(text, channel=DIRECT)

    def _by_slack(self, data: bytes) -> None:
        given = self.slack.files.given("receipt.jpg", data)  # it says text/plain of everything
        self.slack.say("", channel=DIRECT, thread=self._thread, subtype="file_share", files=[given])


async def uploaded(running: Gateway, data: bytes) -> str:
    """A file that a page has uploaded; its id."""
    headers = {"origin": running.url, "cookie": await running.cookie("Ada"), "content-type": "image/jpeg"}
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=SEEN_LIMIT_S) as client:
        answer = await client.post("/files", content=data)
        return str(answer.raise_for_status().json()["id"])


async def test_receipts_are_read_on_every_platform_also_after_a_kill_between_upload_and_answer(tmp_path: Path) -> None:
    clerk, platforms = Clerk(), Platforms()
    async with OpenAIServer(clerk) as model, platforms.serving() as told:
        environment = {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model.base_url, **told}
        places = platforms.places()
        async with gateway(tmp_path, RECEIPT, environment) as running:
            for name in ("telegram", "slack", "discord"):
                await running.listens_to(name)
            async with running.page() as page:
                room = Room(page)
                await room.join()
                await room.say("hi")
                await room.until(ASKS)
                await page.say("", files=[{"id": await uploaded(running, photo(200, 120, turned=6)), "name": "r.jpg"}])
                await room.until(ASKS, FIRST)
                for place in places:
                    place.say("hi")
                    await place.read(ASKS)
                    place.send(photo(200, 120, turned=6))
                    await place.read(ASKS, FIRST)
                clerk.holds = True
                await page.say("", files=[{"id": await uploaded(running, photo(300, 100)), "name": "second.jpg"}])
                for place in places:
                    place.send(photo(300, 100))
                with anyio.fail_after(SEEN_LIMIT_S):
                    await model.until(lambda: len([seen for seen in clerk.asked if seen[-1:] == [(300, 100)]]) == 4)
            running.kill()
            await running.gone()
            clerk.holds = False
            await running.start()
            async with running.page() as page:
                room = Room(page)
                await room.join()
                await room.until(ASKS, FIRST, SECOND)
            for place in places:
                await place.read(ASKS, FIRST, SECOND)
    assert {tuple(seen) for seen in clerk.asked} == {(), ((120, 200),), ((120, 200), (300, 100))}
