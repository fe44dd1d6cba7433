"""The names of spans and of their attributes; and the content in them: none unless the settings want it; then without
secrets, and cut.

`gen_ai.*`, `error.type`: OpenTelemetry's semantic conventions for generative AI, in development
(github.com/open-telemetry/semantic-conventions-genai, model/gen-ai). `session.id`, `user.id`: its general conventions.
`input.*`, `output.*`, `openinference.span.kind`: OpenInference (github.com/Arize-ai/openinference,
spec/semantic_conventions.md), read by Phoenix, and by Langfuse where it does not know the former. `gen_ai.usage.cost`:
Langfuse's (langfuse.com/docs, OpenTelemetry, property mapping). `parley.*` are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.observability.watching import SecretMasking
from runtime.events.frames import FrameAbout
from runtime.llm.client import ChatMessage

OPERATION: Final = "gen_ai.operation.name"
SPAN_KIND: Final = "openinference.span.kind"
INPUT: Final = "input.value"
INPUT_FORM: Final = "input.mime_type"
OUTPUT: Final = "output.value"
OUTPUT_FORM: Final = "output.mime_type"

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"

_MAX_CHARS = 50_000
"""The longest text; longer ones are cut."""

_JSON = "application/json"
_TEXT = "text/plain"


def title_of(about: FrameAbout) -> str:
    """The name of a frame's span: `Agent.Playbook`."""
    playbook = about.playbook
    return playbook if about.kind == "remote" else f"{about.agent}.{playbook}"


def whose(about: FrameAbout) -> dict[str, str]:
    told: dict[str, str | None] = {"session.id": about.session_id, "gen_ai.conversation.id": about.conversation}
    told |= {"user.id": about.participant_id, "parley.meeting": about.meeting_id}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: FrameAbout) -> dict[str, str]:
    return {"gen_ai.agent.name": about.agent, "gen_ai.agent.id": str(about.agent_id)}


def attributes_of(about: FrameAbout) -> dict[str, str]:
    found = whose(about) | agent_of(about) | {"parley.frame": about.frame}
    if about.kind == "llm":
        return found | {OPERATION: INVOKE_AGENT, SPAN_KIND: "CHAIN"}
    found |= {OPERATION: "execute_tool", SPAN_KIND: "TOOL", "gen_ai.tool.name": title_of(about)}
    return found | {
        "gen_ai.tool.type": "extension" if about.kind == "remote" else "function",
        "gen_ai.tool.call.id": about.frame,
    }


class SpanContent:
    """Attributes with content; empty while content is off."""

    def __init__(self, masking: SecretMasking, *, on: bool) -> None:
        self._masking = masking
        self._on = on

    def input(self, arguments: Any, name: str) -> Mapping[str, str]:
        """The arguments of a playbook, also as the attribute `name`."""
        return {} if arguments is None else self._data(arguments, INPUT, INPUT_FORM, name)

    def output(self, value: Any, name: str) -> Mapping[str, str]:
        return self._data(value, OUTPUT, OUTPUT_FORM, name)

    def _data(self, value: Any, key: str, form: str, name: str) -> Mapping[str, str]:
        if not self._on:
            return {}
        text = self._text(json.dumps(value, ensure_ascii=False, default=str))
        return {key: text, form: _JSON, name: text}

    def prompt(self, messages: Sequence[ChatMessage] | None) -> Mapping[str, str]:
        if not self._on or messages is None:
            return {}
        told = [_message(message.role, self._text(message.content)) for message in messages]
        text = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        return {
            "gen_ai.input.messages": json.dumps(told, ensure_ascii=False),
            INPUT: self._text(text),
            INPUT_FORM: _TEXT,
        }

    def reply(self, text: str | None) -> Mapping[str, str]:
        if not self._on or text is None:
            return {}
        said = self._text(text)
        answer = [_message("assistant", said) | {"finish_reason": "stop"}]
        return {
            "gen_ai.output.messages": json.dumps(answer, ensure_ascii=False),
            OUTPUT: said,
            OUTPUT_FORM: _TEXT,
        }

    def failure(self, kind: str, text: str) -> tuple[str, str | None]:
        """An error's type, and its text, which may quote what was said."""
        return kind, self._text(text) if self._on else None

    def _text(self, text: str) -> str:
        text = self._masking.masked(text)
        return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}… ({len(text)} characters)"


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
