"""The question by which each model is tried, and the trial."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Callable, Sequence

import anyio

from runtime.core.errors import LLMUnavailable
from runtime.llm.client import EMBED, SPEAK, TRANSCRIBE, ChatMessage, CompletionRequest, LLMClient, Recording, Usage
from runtime.llm.models import SERVICES


def question_for(names: Sequence[str]) -> CompletionRequest:
    """What a model of these names is asked: one that listens, a second of silence; one that speaks or tells meanings,
    a word."""
    if SERVICES[TRANSCRIBE] in names:
        silence = Recording("silence.wav", "audio/wav", base64.b64encode(_silence()).decode("ascii"))
        return CompletionRequest((), TRANSCRIBE, recording=silence)
    if SERVICES[SPEAK] in names:
        return CompletionRequest((ChatMessage("user", "Yes."),), SPEAK)
    if SERVICES[EMBED] in names:
        return CompletionRequest((ChatMessage("user", "Yes."),), EMBED)
    return CompletionRequest((ChatMessage("user", "Answer with the one word: yes"),), purpose="check")


def _uncounted(_: Usage) -> None:
    """Where nothing is counted."""


async def ask(
    model: LLMClient, request: CompletionRequest, within_s: float, count: Callable[[Usage], None] = _uncounted
) -> str:
    """Ask a model once; a line that says that it answers. `count` is told what was used, however it ends. Raises
    LLMError, and TimeoutError.
    """
    with anyio.fail_after(within_s):
        async with model.stream(request) as answer:
            try:
                text = "".join([piece async for piece in answer])
            finally:
                count(answer.usage)
    if not text.strip():
        raise LLMUnavailable(f"{model.model} gave an empty answer; check its name and its server.")
    return f"{model.model} answers"


def _silence() -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(bytes(32_000))
    return written.getvalue()
