"""Models that speak answers, for who wants it, and put recordings into words, within bounds; and what of an answer can
be read aloud. A sentence says what is not put into words.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from anyio.lowlevel import checkpoint
from msgspec import Struct

from adapters.adapter import Inbound
from adapters.records import Records
from gateway.features.voice.settings import VoiceSettings
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.inbound.usage_limits import DAY_S, UsageCounters
from gateway.models.answers import BilledModel, BilledPerson
from runtime.core.errors import LLMError, LLMRefused, LLMTimeout, NotDelivered
from runtime.core.files import MAX_FILE_BYTES, FileAccess
from runtime.core.json_text import read_json
from runtime.core.message import Attachment
from runtime.core.texts import Texts
from runtime.llm.client import SPEAK, TRANSCRIBE, ChatMessage, CompletionRequest, VoiceRecording

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
LEAST_S: Final = 0.1
"""A shorter recording has no word in it."""

CHARS_PER_S: Final = 50
ANY_CHARS: Final = 200
"""Nobody says more than this many characters, in a second and besides; a longer transcript is no transcript."""

_ENDINGS: Final = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/webm": "webm",
}


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


class ReceivedSound(Struct, frozen=True):
    """A recording that came with a message, which Parley keeps. `claimed` is what its platform says of its type,
    `seconds` its length by its container, None where that does not say; `before_s` are those of the same message."""

    file: Attachment
    claimed: str
    seconds: float | None
    before_s: float = 0.0

    @property
    def concerns(self) -> bool:
        """Whether it is a sound, or was said to be one."""
        return self.file.media_type.startswith("audio/") or (
            self.claimed.startswith("audio/") and self.file.media_type.startswith("video/")
        )


class VoiceTranscript(Struct, frozen=True):
    """The words of a recording, and their language as the provider names it, "" where it does not."""

    text: str
    language: str = ""


class UnheardReply(Struct, frozen=True):
    """The sentence for who sent a recording that has no words for us."""

    why: str


class ModelListener(Struct, frozen=True):
    """Puts recordings into words by the model for transcriptions."""

    _model: BilledModel
    _files: FileAccess
    _counters: UsageCounters
    _limits: VoiceSettings
    _texts: Callable[[str], Texts]

    async def words(self, sound: ReceivedSound, payer: BilledPerson, once: str, /) -> VoiceTranscript | UnheardReply:
        """The words of a recording; `once` is its own, so that it is counted once. Raises StorageError and nothing
        else."""
        why = self._unfit(sound) or await self._too_much_today(sound, payer, once)
        if why is not None:
            key, values = why
            return self._unheard(sound, payer, key, **values)
        refused = await self._model.refusal(payer)
        if refused is not None:
            return UnheardReply(refused)
        try:
            data = await self._files.fetch(payer.address, sound.file, max_bytes=MAX_FILE_BYTES)
        except NotDelivered:
            return self._unheard(sound, payer, "gone")
        return await self._asked(sound, data, payer)

    def _unfit(self, sound: ReceivedSound) -> tuple[str, dict[str, str | int]] | None:
        if not sound.file.media_type.startswith("audio/"):
            return "film", {}
        if sound.seconds is None or not math.isfinite(sound.seconds):
            return "broken", {}
        if sound.seconds < LEAST_S:
            return "no_sound", {}
        if sound.before_s + sound.seconds > self._limits.seconds:
            minutes = math.ceil((sound.before_s + sound.seconds) / 60)
            return "too_long", {"minutes": minutes, "limit": max(1, self._limits.seconds // 60)}
        return None

    async def _too_much_today(
        self, sound: ReceivedSound, payer: BilledPerson, once: str
    ) -> tuple[str, dict[str, str | int]] | None:
        limit, now_s = self._limits.seconds_per_day, self._model.clock.now().timestamp()
        if not limit:
            return None
        name, seconds = f"voice:{payer.address.key}:{int(now_s // DAY_S)}", math.ceil(sound.seconds or 0)
        if await self._counters.add(name, seconds, once=f"{payer.address.key}/{once}", ttl_s=2 * DAY_S) <= limit:
            return None
        hours = math.ceil((DAY_S - now_s % DAY_S) / 3600)
        return "too_much_today", {"limit": max(1, limit // 60), "hours": hours}

    async def _asked(self, sound: ReceivedSound, data: bytes, payer: BilledPerson) -> VoiceTranscript | UnheardReply:
        ending = _ENDINGS.get(sound.file.media_type, "ogg")
        recording = VoiceRecording(f"voice.{ending}", sound.file.media_type, base64.b64encode(data).decode("ascii"))
        await checkpoint()  # other work goes first: 20 MiB are encoded in 40 ms
        try:
            said = await self._model.answer(CompletionRequest((), TRANSCRIBE, recording=recording), payer, str)
        except LLMTimeout:
            return self._unheard(sound, payer, "slow")
        except LLMRefused:
            return self._unheard(sound, payer, "refused")
        except LLMError:
            return self._unheard(sound, payer, "failed")
        return self._read(said, sound, payer)

    def _read(self, said: str, sound: ReceivedSound, payer: BilledPerson) -> VoiceTranscript | UnheardReply:
        try:
            found = read_json(said)
            text, language = str(found["text"]).strip(), str(found["language"])
        except (ValueError, LookupError, TypeError):
            return self._unheard(sound, payer, "failed")
        if not text:
            return self._unheard(sound, payer, "no_words")
        if len(text) > ANY_CHARS + CHARS_PER_S * (sound.seconds or 0):
            return self._unheard(sound, payer, "nonsense")
        return VoiceTranscript(text, language[:40])

    def _unheard(self, sound: ReceivedSound, payer: BilledPerson, key: str, **values: str | int) -> UnheardReply:
        return UnheardReply(self._texts(payer.address.platform)(f"voice.{key}", name=sound.file.name, **values))
