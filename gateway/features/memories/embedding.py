"""Meanings of texts, from a model within bounds; without an answer nothing waits, and nobody is told."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gateway.models.answers import counted
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import LLMError
from runtime.events.frames import LLMBrokeOff
from runtime.events.happening import Tell
from runtime.llm.client import EMBED, ChatMessage, CompletionRequest, LLMClient
from runtime.voice.listener import Payer

PAUSE_S: Final = 60.0
"""After a failure the model is left alone for so long: every question would wait for it."""


class ModelEmbedder:
    """Implements `Embedder` by the model for meanings."""

    def __init__(
        self,
        llm: LLMClient,
        may_ask: Callable[[Address, str | None], Awaitable[str | None]],
        tell: Tell,
        clock: Clock,
    ) -> None:
        self._llm = llm
        self._may_ask = may_ask
        self._tell = tell
        self._clock = clock
        self._rests_until_s = 0.0

    @property
    def model(self) -> str:
        return self._llm.model

    async def embed(self, texts: Sequence[str], payer: Payer, /) -> Sequence[bytes] | None:
        begun_s = self._clock.monotonic()
        if begun_s < self._rests_until_s or await self._may_ask(payer.address, payer.person) is not None:
            return None
        request, said = CompletionRequest(tuple(ChatMessage("user", text) for text in texts), EMBED), ""
        try:
            async with self._llm.stream(request) as completion:
                async for piece in completion:
                    said += piece
                usage = completion.usage
            vectors = [base64.b64decode(line, validate=True) for line in said.split()]
        except (LLMError, binascii.Error) as error:
            self._failed(error, begun_s, payer)
            return None
        self._tell(counted(self._llm, EMBED, usage, self._clock.monotonic() - begun_s, payer))
        return vectors if len(vectors) == len(texts) else None

    def _failed(self, error: Exception, begun_s: float, payer: Payer) -> None:
        now_s = self._clock.monotonic()
        self._rests_until_s = now_s + PAUSE_S
        what = f"{type(error).__name__}: {error}"
        self._tell(LLMBrokeOff(payer.session, "", "", "", self._llm.model, EMBED, what, now_s - begun_s))
