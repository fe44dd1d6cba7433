"""Who is erased leaves nothing behind of what they said, sent and had remembered, and an export has all of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, gateway, parley
from tests.e2e.platforms.test_failing_services import speak
from tests.e2e.platforms.test_hostile_files import send
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, until, until_begun, until_said
from tests.fakes.models.sounds import opus
from tests.fakes.models.voice_server import Heard, VoiceServer
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DIARY = ROOT / "tests" / "e2e" / "programs" / "diary.pb"
ADA, BOB = 801, 802
TULIPS = b"the tulips are in the cellar"


SAID = (b"vegetarian", b"whistles", base64.b64encode(opus(3.0)), base64.b64encode(TULIPS))
"""What Ada says, remembers and sends, as the database writes it."""


def left(folder: Path) -> set[bytes]:
    """What of it stands in any file of a data directory, and what Bob has had remembered."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {words for words in (*SAID, b"rows boats") if any(words in data for data in files)}


async def test_who_is_erased_leaves_no_word_no_voice_no_file_and_no_memory(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    ada, bob = TelegramTalk(platform, chat=ADA), TelegramTalk(platform, chat=BOB)
    async with VoiceServer(Heard("remember The user whistles")) as voices, serving(platform) as address:
        environment = settings(
            address,
            PARLEY_TELEGRAM__ACCESS="open",
            PARLEY_MODELS__TRANSCRIPTION__MODEL="whisper-1",
            PARLEY_MODELS__TRANSCRIPTION__BASE_URL=voices.base_url,
        )
        async with gateway(tmp_path, DIARY, environment):
            for talk in (ada, bob):
                await talk.say("hi")
                await until(talk, "I am here.")
            await bob.say("remember The user rows boats")
            await until_said(bob, "remembered")
            await ada.say("remember The user is vegetarian")
            await until_said(ada, "remembered")
            speak(platform, chat=ADA, person=ADA)
            await ada.until_that(lambda: ada.texts().count("remembered") == 2)
            send(platform, "plan.txt", TULIPS, chat=ADA)
            await until_said(ada, "I know nothing.")
            assert left(tmp_path) == {*SAID, b"rows boats"}
            _, listed, _ = await parley(tmp_path, "sessions", "list", "--json")
            (session,) = [
                one["session"] for one in map(json.loads, listed.splitlines()) if "801" in one["conversation"]
            ]
            _, exported, _ = await parley(tmp_path, "sessions", "export", session, "-o", "-")
            assert [words in exported.encode() for words in SAID] == [True] * len(SAID)
            status, told, errors = await parley(
                tmp_path, "sessions", "delete", "--person", f"telegram:{ADA}", "--force"
            )
            assert (status, errors) == (0, ""), told
            assert left(tmp_path) == {b"rows boats"}
            await ada.say("hi again")
            await ada.until_that(lambda: ada.texts().count("I am here.") == 2)
            await ada.say("vegetarian whistles")
            await ada.until_that(lambda: ada.texts().count("I know nothing.") == 2)
            await bob.say("boats")
            await until_begun(bob, "The user rows boats")
