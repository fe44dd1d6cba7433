"""What strangers send is looked at and answered in a sentence each, and who comes after them is served as before."""

from __future__ import annotations

import mimetypes
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, until_said
from tests.fakes.documents import archive, pdf, pdf_bomb, picture, pixel_bomb, word
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
EVE = 666
HOSTILE = {
    "pixels.png": (pixel_bomb, "pixels.png is too large for me: it has 60000 "),
    "zip.docx": (
        lambda: word("x" * 200_000_000),
        "I did not read zip.docx: unpacked, it would be far larger than any document.",
    ),
    "bomb.pdf": (lambda: pdf_bomb("page", 1200), "I could not read bomb.pdf: it took too long, needed too much memory"),
    "long.pdf": (
        lambda: pdf(["Hello from here"], copies=10_000),
        "long.pdf has 10000 pages. I read the first",
    ),
    "words.jpg": (lambda: b"just words", "words.jpg is not a picture that I can open"),
    "macros.docx": (lambda: word("Hello", more={"word/vbaProject.bin": b"evil"}), "macros.docx has macros."),
    "files.zip": (
        lambda: archive({"../../etc/passwd": "x"}),
        "I do not look into files.zip, because it is an archive.",
    ),
    "photo.png": (lambda: b"MZ\x90\0\x03\0\0\0\x04\0", "I do not open photo.png, because it is a program."),
    "../\u202egnp.exe\nnew line.txt": (lambda: b"", "gnp.exenew line.txt is empty."),
}
"""Files by the names that they are sent under, and how the sentence about each begins."""


def send(platform: TelegramPlatform, name: str, data: bytes, *, chat: int) -> None:
    """A person sends a file as a document, of which Telegram says what its name says."""
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    file_id = f"file{len(platform.files)}"
    platform.files[file_id] = data
    document = {"file_id": file_id, "file_unique_id": file_id, "file_name": name, "mime_type": kind}
    platform.say(None, chat=chat, person=chat, document=document)


async def test_each_hostile_file_is_a_sentence_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    eve, ada = TelegramTalk(platform, chat=EVE), TelegramTalk(platform)
    async with (
        serving(platform) as address,
        gateway(tmp_path, DESK, settings(address, PARLEY_TELEGRAM__ACCESS="open")) as running,
    ):
        process = running.process_id
        for talk in (eve, ada):
            await talk.say("hi")
            await until_said(talk, "The desk is open.")
        for name, (data, _) in HOSTILE.items():
            send(platform, name, await anyio.to_thread.run_sync(data), chat=EVE)
        await ada.say("and me?")
        await until_said(ada, "You said: and me?")
        send(platform, "good.jpg", picture(), chat=EVE)
        await eve.say("still there?")
        await until_said(eve, "You said: still there?")
        assert (running.process_id, running.running) == (process, True)
        told = [text for text in eve.texts() if not text.startswith("You said") and text != "The desk is open."]
        assert len(told) == len(HOSTILE), told
        for text, (_, sentence) in zip(told, HOSTILE.values(), strict=True):
            assert text.startswith(sentence)
