"""A voice note recorded on the chat page, in Chromium with a microphone that beeps."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Browser, async_playwright, expect

from gateway.features.files.worker.sounds import measure_matroska
from tests.e2e.browsing import LIMIT_MS
from tests.e2e.conftest import QUIET
from tests.e2e.web.test_web_page import enter, listening
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

BEEPS = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
PHONE = {"width": 390, "height": 844}
NO_MICROPHONE = """navigator.mediaDevices.getUserMedia = async () => {
    throw new DOMException("nothing there", window.microphone ?? "NotFoundError");
};"""


@pytest.fixture
async def beeping(chromium_path: str) -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(
            executable_path=chromium_path, args=[*QUIET, *BEEPS], timeout=LIMIT_MS
        )
        yield launched
        await launched.close()


async def test_a_recording_is_sent_as_a_sound_whose_length_can_be_told_by_keyboard_alone(beeping: Browser) -> None:
    async with web_chat(voice_s=60) as chat, listening(chat) as heard:
        page = await enter(beeping, chat, "Ada", viewport=PHONE)
        await page.locator("#room-composer .record").focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-composer .record-clock")).to_have_text("0:02 / 1:00")
        await expect(page.locator("#room-composer textarea")).to_be_hidden()
        await expect(page.get_by_label("Send the recording").first).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator(".message.person .file, .message.person audio").first).to_be_visible()
        await expect(page.locator("#room-composer textarea")).to_be_focused()
        (inbound,) = heard
        (sound,) = inbound.attachments
        assert (sound.name, sound.media_type) == ("Voice note.webm", "audio/webm")
        data = await chat.adapter.download(sound.url, max_bytes=1_000_000)
        kind, seconds = measure_matroska(data)
        assert kind == "audio/webm"
        assert seconds is not None
        assert 1.5 < seconds < 6


async def test_a_discarded_recording_leaves_nothing_and_one_at_the_limit_waits_for_its_author(beeping: Browser) -> None:
    async with web_chat(voice_s=2) as chat, listening(chat) as heard:
        page = await enter(beeping, chat, "Ada")
        await page.get_by_label("Record a voice note").first.click()
        await expect(page.locator("#room-composer .record-clock")).to_contain_text("0:0")
        await page.keyboard.press("Escape")
        await expect(page.locator("#room-composer textarea")).to_be_focused()
        await expect(page.locator(".uploads li")).to_have_count(0)
        await page.get_by_label("Record a voice note").first.click()
        await expect(page.locator("#room-composer .form-error")).to_contain_text("its limit of 0:02")
        await expect(page.locator(".uploads li")).to_contain_text("Voice note.webm")
        assert not heard
        await page.get_by_label("Send", exact=True).first.click()
        await expect(page.locator(".message.person")).to_have_count(1)
        assert len(heard[0].attachments) == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [("NotAllowedError", "The microphone is blocked"), ("NotFoundError", "There is no microphone")],
)
async def test_without_a_microphone_a_sentence_says_why(beeping: Browser, error: str, words: str) -> None:
    async with web_chat(voice_s=60) as chat, listening(chat):
        page = await enter(beeping, chat, "Ada", scripts=[f"window.microphone = '{error}';", NO_MICROPHONE])
        await page.get_by_label("Record a voice note").first.click()
        await expect(page.locator("#room-composer .form-error")).to_contain_text(words)
        await expect(page.locator("#room-composer textarea")).to_be_focused()


async def test_nobody_is_offered_to_record_where_nobody_listens(beeping: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(beeping, chat, "Ada")
        await expect(page.locator("#room-composer .attach").first).to_be_visible()
        await expect(page.locator("#room-composer .record")).to_be_hidden()
