"""Services that fail, lie and are slow: people read why in a sentence, once, and go on in the same conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway
from tests.e2e.operation.test_models import HELLO_PROGRAM, chain
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, until, until_said
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.models.sounds import opus
from tests.fakes.models.voice_server import Heard, VoiceServer
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
OPEN = "The desk is open."
FAILED = "I cannot listen to voice.ogg at the moment, because the transcription service does not answer."
SLOW = "Listening to voice.ogg took too long."
SORRY = (
    "⚠️ I cannot continue: the language model cannot be reached right now. Your message is kept. Write to me "
    "again, and I will try once more. /new starts another conversation."
)
HTML = Heard(body=b"<html><body>502 Bad Gateway</body></html>")


def speak(platform: TelegramPlatform, **more: Any) -> None:
    """A person sends a voice note."""
    file_id = f"voice{len(platform.files)}"
    platform.files[file_id] = opus(3.0)
    voice = {"file_id": file_id, "file_unique_id": file_id, "duration": 3, "mime_type": "audio/ogg"}
    platform.say(None, voice=voice, date=int(datetime.now(UTC).timestamp()), **more)


async def until_there_are(talk: TelegramTalk, count: int) -> None:
    """Return when so many messages can be seen."""
    await talk.until_that(lambda: len(talk.texts()) >= count)


async def test_a_transcription_service_fails_lies_is_slow_and_at_last_is_right(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    talk = TelegramTalk(platform)
    async with VoiceServer(Heard(status=500)) as voices, serving(platform) as address:
        environment = settings(
            address,
            PARLEY_TELEGRAM__ACCESS="open",
            PARLEY_MODELS__TRANSCRIPTION__MODEL="whisper-1",
            PARLEY_MODELS__TRANSCRIPTION__BASE_URL=voices.base_url,
            PARLEY_VOICE__WAIT_S="1",
        )
        async with gateway(tmp_path, DESK, environment):
            await talk.say("hi")
            await until(talk, OPEN)
            for answer, sentence in ((Heard(status=500), FAILED), (HTML, FAILED), (Heard("late", hold=True), SLOW)):
                voices.hears(answer)
                voices.forget_first()
                before = len(talk.texts())
                speak(platform)
                await until_there_are(talk, before + 2)
                assert talk.texts()[before].startswith(sentence)
                assert talk.texts()[before + 1 :] == ["You said:"]
            late = int(talk.ids()[-2])
            platform.say("Three pizzas", reply_to=late)
            await until_said(talk, "You said: Three pizzas")
            voices.hears(Heard("Two pizzas please"))
            voices.forget_first()
            speak(platform)
            await until_said(talk, "You said: Two pizzas please")
    assert len(voices.recordings) == 3 + 3 + 1 + 1
    assert len(talk.texts()) == 1 + 3 * 2 + 1 + 2


async def test_where_all_models_of_a_chain_fail_people_read_one_sentence_and_the_next_message_is_answered(
    tmp_path: Path,
) -> None:
    down = Reply(status=500, repeat=True)
    async with (
        OpenAIServer([down]) as first,
        OpenAIServer([down]) as second,
        gateway(tmp_path, HELLO_PROGRAM, chain(first, second)) as running,
        running.page() as page,
    ):
        room = Room(page)
        await room.join()
        await room.say("hi")
        await room.until(SORRY)
        assert first.requests
        assert second.requests
        for server in (first, second):
            server.forget()
        second.add(Reply("Hello! What is your name?", repeat=True))
        first.add(down)
        await room.say("hi again")
        await room.until(SORRY, "Hello! What is your name?")
