"""The port to who puts recordings into words; and a model that does, within bounds. A sentence says what is not."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Final

from anyio.lowlevel import checkpoint
from msgspec import Struct

from gateway.features.voice.settings import VoiceSettings
from gateway.inbound.usage_limits import DAY_S, UsageCounters
from gateway.models.answers import BilledModel, BilledPerson
from runtime.core.errors import LLMError, LLMRefused, LLMTimeout, NotDelivered
from runtime.core.files import MAX_FILE_BYTES, FileAccess
from runtime.core.json_text import read_json
from runtime.core.message import Attachment
from runtime.core.texts import Texts
from runtime.llm.client import TRANSCRIBE, CompletionRequest, VoiceRecording

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
