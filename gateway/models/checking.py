"""The question by which each model is tried."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Sequence

from runtime.llm.client import SPEAK, TRANSCRIBE, ChatMessage, CompletionRequest, Recording
from runtime.llm.models import VOICE


def question_for(names: Sequence[str]) -> CompletionRequest:
    """What a model of these names is asked: one that listens, a second of silence; one that speaks, a word."""
    if VOICE[TRANSCRIBE] in names:
        silence = Recording("silence.wav", "audio/wav", base64.b64encode(_silence()).decode("ascii"))
        return CompletionRequest((), TRANSCRIBE, recording=silence)
    if VOICE[SPEAK] in names:
        return CompletionRequest((ChatMessage("user", "Yes."),), SPEAK)
    return CompletionRequest((ChatMessage("user", "Answer with the one word: yes"),), purpose="check")


def _silence() -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(bytes(32_000))
    return written.getvalue()
