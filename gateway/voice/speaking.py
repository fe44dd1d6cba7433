"""Answers are spoken by a model, for who wants it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable

from adapters.adapter import Inbound
from adapters.records import Records
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.models.answers import counted
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import LLMError
from runtime.events.happening import Tell
from runtime.llm.client import SPEAK, ChatMessage, CompletionRequest, LLMClient
from runtime.voice.listener import Payer

VOICE_TABLE = "voice"
"""Who has said whether answers are to be spoken: "on" or "off" by person."""

_OPUS_HEAD = slice(28, 36)


class VoiceCommand:
    """The command /voice: whether answers to who gives it are spoken."""

    def __init__(self, records: Records, *, speaks: bool) -> None:
        """`speaks`: there is a model for it."""
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


class ModelSpeaker:
    """Implements `runtime.voice.speaker.VoiceSpeaker` by the model for speech."""

    def __init__(
        self,
        llm: LLMClient,
        records: Records,
        max_chars: int,
        may_ask: Callable[[Address, str | None], Awaitable[str | None]],
        tell: Tell,
        clock: Clock,
    ) -> None:
        self._llm = llm
        self._records = records
        self._max_chars = max_chars
        self._may_ask = may_ask
        self._tell = tell
        self._clock = clock

    @property
    def max_chars(self) -> int:
        return self._max_chars

    async def wanted(self, person: str, /) -> bool | None:
        said = await self._records.get(person)
        return None if said is None else said == "on"

    async def spoken(self, text: str, payer: Payer, /) -> bytes | None:
        if await self._may_ask(payer.address, payer.person) is not None:
            return None
        begun_s, pieces = self._clock.monotonic(), list[str]()
        try:
            async with self._llm.stream(CompletionRequest((ChatMessage("user", text),), SPEAK)) as completion:
                async for piece in completion:
                    pieces.append(piece)
                usage = completion.usage
            data = base64.b64decode("".join(pieces), validate=True)
        except (LLMError, binascii.Error):
            return None
        self._tell(counted(self._llm, SPEAK, usage, self._clock.monotonic() - begun_s, payer))
        return data if data[_OPUS_HEAD] == b"OpusHead" else None
