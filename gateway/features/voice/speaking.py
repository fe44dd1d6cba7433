"""The port to who speaks answers; a model that does, for who wants it; and what of an answer can be read aloud."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from adapters.adapter import Inbound
from adapters.records import Records
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.models.answers import BilledModel, BilledPerson
from runtime.core.errors import LLMError
from runtime.llm.client import SPEAK, ChatMessage, CompletionRequest

VOICE_TABLE = "voice"
"""Who has said whether answers are to be spoken: "on" or "off" by person."""

_OPUS_HEAD = slice(28, 36)

VOICE_TYPE = "audio/ogg"
"""The type of every spoken answer: Ogg with Opus, which is what all platforms take as a voice note."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_INDENTED: Final = re.compile(r" {4}|\t")
_PICTURE: Final = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_LINK: Final = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")
_ADDRESS: Final = re.compile(r"<?https?://[^\s>)]+>?")
_CODE: Final = re.compile(r"(?<!`)`++([^`]++)`++")
_LINE: Final = re.compile(r"\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,3}[.)]\s+|[-*_]{3,}\s*$)")
_MARKS: Final = re.compile(r"(?<!\w)[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}(?!\w)")
_SENTENCE: Final = re.compile(r"[.!?…]++[\"'”\u2019)\]]*+(?=\s|$)|[\u3002\uff01\uff1f]++[\u300d\u300f\uff09]*")
_UNHEARD: Final = frozenset({"So", "Sk", "Cs", "Co", "Cf"})
"""Categories of characters without a sound: emoji, private ones, those that format."""


class VoiceCommand:
    def __init__(self, records: Records, *, speaks: bool) -> None:
        self._records = records
        self._speaks = speaks

    async def answer(self, given: GivenCommand) -> CommandAnswer:
        """Carry out the command and answer it: to who gave it alone, where the platform can."""
        return CommandAnswer(given.texts(f"voice.{await self._done(given.event)}"), alone=True)

    async def _done(self, asked: Inbound) -> str:
        word = asked.text.strip().lower()
        if word in ("on", "off") and (self._speaks or word == "off"):
            await self._records.put(asked.person_id, word)
            return word
        if not self._speaks:
            return "impossible"
        known = await self._records.get(asked.person_id)
        return "usage" if word else "as_program" if known is None else f"is_{known}"


class ModelSpeaker(Struct, frozen=True):
    """Speaks texts by the model for speech, up to `max_chars` characters of an answer."""

    _model: BilledModel
    _records: Records
    max_chars: int

    async def wanted(self, person: str, /) -> bool | None:
        """Whether a person wants answers spoken; None where they have not said. Raises StorageUnavailable."""
        said = await self._records.get(person)
        return None if said is None else said == "on"

    async def spoken(self, text: str, payer: BilledPerson, /) -> bytes | None:
        """The text as a voice note; None where that failed or is not allowed now."""
        if await self._model.refusal(payer) is not None:
            return None
        request = CompletionRequest((ChatMessage("user", text),), SPEAK)
        try:
            data = await self._model.answer(request, payer, partial(base64.b64decode, validate=True))
        except (LLMError, binascii.Error):
            return None
        return data if data[_OPUS_HEAD] == b"OpusHead" else None


def readable(text: str, chars: int) -> str:
    """What of an answer in Markdown is read aloud: no code, no tables, no marks, but whole sentences, at most `chars`
    characters; "" where nothing is.

    Texts come from models, so every step takes time in proportion to the text, whatever is in it.
    """
    said, length = list[str](), 0
    for line in _prose(text):
        words = _words(line)
        if any(map(str.isalnum, words)):
            said.append(_ended(words))
            length += len(said[-1]) + 1
        if length > chars:
            break
    return _cut(" ".join(said), chars)


def _prose(text: str) -> Iterator[str]:
    """The lines outside of code and tables."""
    fence, blank, indented = "", True, False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        indented = _INDENTED.match(line) is not None and (blank or indented)
        blank = not line.strip()
        if mark:
            fence = mark[1]
        elif not (blank or indented or _is_row(line.strip())):
            yield line


def _is_row(line: str) -> bool:
    return len(line) > 1 and line.startswith("|") and line.endswith("|")


def _words(line: str) -> str:
    """What a line says, without marks."""
    line = _LINK.sub(r"\1", _PICTURE.sub("", line))
    line = _CODE.sub(r"\1", _ADDRESS.sub("", line))
    start = _LINE.match(line)
    line = _MARKS.sub("", line[start.end() :] if start else line)
    return " ".join("".join(char for char in line if unicodedata.category(char) not in _UNHEARD).split())


def _ended(line: str) -> str:
    """A line with a sentence's end, so that a pause follows it."""
    return line if line[-1] in ".!?…:;,\u3002\uff01\uff1f\uff0c\uff1a\uff1b" else f"{line}."


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    ends = [found.end() for found in _SENTENCE.finditer(text[:chars])]
    if ends:
        return text[: ends[-1]]
    words = text[: chars - 1].rpartition(" ")[0] or text[: chars - 1]
    return f"{words}…"
