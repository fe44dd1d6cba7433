"""The content in spans: none unless the settings want it; then without secrets, and cut."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.observability.masking import Masking
from gateway.observability.tracing import names
from runtime.llm.client import ChatMessage

MAX_CHARS = 50_000
"""The longest text; longer ones are cut."""

_JSON = "application/json"
_TEXT = "text/plain"


class SpanContent:
    """Attributes with content; empty while content is off."""

    def __init__(self, masking: Masking, *, on: bool) -> None:
        self._masking = masking
        self._on = on

    def input(self, arguments: Any, name: str) -> Mapping[str, str]:
        """The arguments of a playbook, also as the attribute `name`."""
        if not self._on or arguments is None:
            return {}
        text = self._data(arguments)
        return {names.INPUT: text, names.INPUT_FORM: _JSON, name: text}

    def output(self, value: Any, name: str) -> Mapping[str, str]:
        """The result of a playbook."""
        if not self._on:
            return {}
        text = self._data(value)
        return {names.OUTPUT: text, names.OUTPUT_FORM: _JSON, name: text}

    def prompt(self, messages: Sequence[ChatMessage] | None) -> Mapping[str, str]:
        """The prompt of a model."""
        if not self._on or messages is None:
            return {}
        told = [_message(message.role, self._text(message.content)) for message in messages]
        text = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        return {
            names.INPUT_MESSAGES: json.dumps(told, ensure_ascii=False),
            names.INPUT: self._text(text),
            names.INPUT_FORM: _TEXT,
        }

    def reply(self, text: str | None) -> Mapping[str, str]:
        """The reply of a model."""
        if not self._on or text is None:
            return {}
        said = self._text(text)
        answer = [_message("assistant", said) | {"finish_reason": "stop"}]
        return {
            names.OUTPUT_MESSAGES: json.dumps(answer, ensure_ascii=False),
            names.OUTPUT: said,
            names.OUTPUT_FORM: _TEXT,
        }

    def failure(self, kind: str, text: str) -> tuple[str, str | None]:
        """An error's type, and its text, which may quote what was said."""
        return kind, self._text(text) if self._on else None

    def _data(self, value: Any) -> str:
        return self._text(json.dumps(value, ensure_ascii=False, default=str))

    def _text(self, text: str) -> str:
        text = self._masking.masked(text)
        return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}… ({len(text)} characters)"


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
