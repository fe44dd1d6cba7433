"""A voice note reaches the program as words, on every platform, also when we die meanwhile; answers are spoken."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import SEEN_LIMIT_S, Gateway, Room, gateway
from tests.e2e.platforms.test_receipts import ASKS, FIRST, RECEIPT, SECOND, Place, Platforms
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.models.sounds import opus
from tests.fakes.models.voice_server import Heard, VoiceServer
from tests.fakes.slack.people import DIRECT

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

NOTE = ""
"""The text of a voice note."""
SAID, SAID_LATER = "It is forty-two fifty", "and this one seven"
ALONE = "Only Ada and Clerk see this room."
ON, OFF = "From now on I also speak", "From now on I only write"


def answered(request: Mapping[str, Any]) -> Reply:
    """The model: it asks for a receipt, and says what it was told of it."""
    told = json.dumps(request["messages"])
    return Reply(SECOND if SAID_LATER in told else FIRST if SAID in told else ASKS)


class VoicePlatforms(Platforms):
    """The places of `Platforms`, where people send voice notes."""

    def places(self) -> list[Place]:
        telegram, *others = super().places()
        return [replace(telegram, say=self._in_telegram), *others]

    def _in_telegram(self, text: str | None, **more: Any) -> None:
        self.telegram.say(text, date=int(datetime.now(UTC).timestamp()), **more)

    def _by_telegram(self, data: bytes) -> None:
        file_id = f"voice{len(self.telegram.files)}"
        self.telegram.files[file_id] = data
        voice = {"file_id": file_id, "file_unique_id": file_id, "duration": 3, "mime_type": "audio/ogg"}
        self._in_telegram(None, voice=voice)

    def _by_slack(self, data: bytes) -> None:
        given = self.slack.files.given("audio_message.m4a", data) | {"subtype": "slack_audio"}
        self.slack.say("", channel=DIRECT, thread=self._thread, subtype="file_share", files=[given])

    def order_in_slack(self, command: str) -> None:
        """A command in the thread, where Slack takes what begins with a stroke for itself."""
        self.slack.say(f"!{command[1:]}", channel=DIRECT, thread=self._thread)


async def told(place: Place, *wanted: str) -> None:
    """Return when each of these is there, in this order, in a message of its own, and no other message is."""

    def are_there() -> bool:
        texts = place.texts()
        return len(texts) == len(wanted) and all(part in text for part, text in zip(wanted, texts, strict=True))

    try:
        with anyio.fail_after(SEEN_LIMIT_S):
            await place.until(are_there)
    except TimeoutError:
        raise AssertionError(f"{wanted} were waited for, there is {place.texts()}") from None


async def seen(room: Room, *wanted: str) -> None:
    """The same in a room of the web page."""

    def texts() -> Sequence[str]:
        found = [message for message in room.messages.values() if message["kind"] != "person"]
        return [message["text"] for message in found]

    await room.until_that(lambda: len(texts()) == len(wanted) and all(map(str.__contains__, texts(), wanted)))


async def uploaded(running: Gateway, data: bytes) -> str:
    """A recording that a page has uploaded; its id."""
    headers = {"origin": running.url, "cookie": await running.cookie("Ada"), "content-type": "audio/ogg"}
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=SEEN_LIMIT_S) as client:
        answer = await client.post("/files", content=data)
        return str(answer.raise_for_status().json()["id"])


async def test_what_is_said_is_heard_once_on_every_platform_also_when_the_gateway_dies_while_it_listens(
    tmp_path: Path,
) -> None:
    platforms = VoicePlatforms()
    async with OpenAIServer(answered) as model, VoiceServer(Heard(SAID)) as voices, platforms.serving() as told_by:
        environment = {
            "PARLEY_MODELS__DEFAULT": "main",
            "PARLEY_MODELS__MAIN__MODEL": "test",
            "PARLEY_MODELS__MAIN__BASE_URL": model.base_url,
            "PARLEY_MODELS__TRANSCRIPTION__MODEL": "whisper-1",
            "PARLEY_MODELS__TRANSCRIPTION__BASE_URL": voices.base_url,
            "PARLEY_MODELS__SPEECH__MODEL": "tts-1",
            "PARLEY_MODELS__SPEECH__BASE_URL": voices.base_url,
            **told_by,
        }
        places, spoken = platforms.places(), tmp_path / "spoken.pb"
        spoken.write_text(f"---\nvoice: true\n---\n{RECEIPT.read_text()}")
        async with gateway(tmp_path, spoken, environment) as running:
            for name in ("telegram", "slack", "discord"):
                await running.listens_to(name)
            async with running.page() as page:
                room = Room(page)
                await room.join()
                await room.say("hi")
                await seen(room, ASKS, NOTE)
                await page.say("", files=[{"id": await uploaded(running, opus(3.0)), "name": "v.ogg"}])
                await seen(room, ASKS, NOTE, SAID, FIRST, NOTE)
                for place in places:
                    place.say("hi")
                    await told(place, ASKS, NOTE)
                    place.send(opus(3.0))
                    await told(place, ASKS, NOTE, SAID, FIRST, NOTE)
                voices.hears(Heard(SAID_LATER, hold=True))
                voices.forget_first()
                await page.say("", files=[{"id": await uploaded(running, opus(4.0)), "name": "later.ogg"}])
                for place in places:
                    place.send(opus(4.0))
                with anyio.fail_after(SEEN_LIMIT_S):
                    await voices.until(lambda: voices.held == 4)
            running.kill()
            await running.gone()
            voices.hears(Heard(SAID_LATER))
            voices.forget_first()
            await running.start()
            async with running.page() as page:
                room = Room(page)
                await room.join()
                await seen(room, ASKS, NOTE, SAID, FIRST, NOTE, SAID_LATER, SECOND, NOTE)
                notes = [file for message in room.messages.values() for file in message.get("files", [])]
            for place in places:
                await told(place, ASKS, NOTE, SAID, FIRST, NOTE, SAID_LATER, SECOND, NOTE)
    assert {given["model"] for given in voices.recordings} == {"whisper-1"}
    assert len(voices.recordings) == 12
    assert Counter(asked["input"] for asked in voices.spoken) == {ASKS: 4, FIRST: 4, SECOND: 4}
    assert len(platforms.telegram.calls_of("sendVoice")) == 3
    assert len(platforms.slack.calls_of("files.completeUploadExternal")) == 3
    assert [file["type"] for file in notes if file["name"] not in ("v.ogg", "later.ogg")] == ["audio/ogg"] * 3


async def test_who_switches_voice_on_hears_the_next_greeting_too_and_who_switches_it_off_does_not(
    tmp_path: Path,
) -> None:
    platforms = VoicePlatforms()
    async with OpenAIServer(answered) as model, VoiceServer(Heard(SAID)) as voices, platforms.serving() as told_by:
        environment = {
            "PARLEY_MODELS__DEFAULT": "main",
            "PARLEY_MODELS__MAIN__MODEL": "test",
            "PARLEY_MODELS__MAIN__BASE_URL": model.base_url,
            "PARLEY_MODELS__SPEECH__MODEL": "tts-1",
            "PARLEY_MODELS__SPEECH__BASE_URL": voices.base_url,
            **told_by,
        }
        telegram, slack, discord = platforms.places()
        async with gateway(tmp_path, RECEIPT, environment) as running:
            for name in ("telegram", "slack", "discord"):
                await running.listens_to(name)
            async with running.page() as page:
                await page.send("direct", agent="Clerk")
                room = Room(page, (await page.until("opened"))["room"])
                await room.join()
                await room.say("hi")
                await seen(room, ALONE, ASKS)
                await room.say("/voice on")
                await seen(room, ALONE, ASKS, ON)
                await room.say("/new")
                await seen(room, ALONE, ASKS, ON, ASKS, NOTE)
                await room.say("/voice off")
                await seen(room, ALONE, ASKS, ON, ASKS, NOTE, OFF)
                await room.say("/new")
                await seen(room, ALONE, ASKS, ON, ASKS, NOTE, OFF, ASKS)
            for place, order in ((telegram, telegram.say), (slack, platforms.order_in_slack), (discord, discord.say)):
                place.say("hi")
                await told(place, ASKS)
                order("/voice on")
                await told(place, ASKS, ON)
                order("/new")
                await told(place, ASKS, ON, ASKS, NOTE)
                order("/voice off")
                await told(place, ASKS, ON, ASKS, NOTE, OFF)
                order("/new")
                await told(place, ASKS, ON, ASKS, NOTE, OFF, ASKS)
    assert [asked["input"] for asked in voices.spoken] == [ASKS] * 4
    assert len(platforms.slack.calls_of("files.completeUploadExternal")) == 1
    assert len(platforms.telegram.calls_of("sendVoice")) == 1
