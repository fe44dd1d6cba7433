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
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
WORKFLOW: Final = "gen_ai.workflow.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL_ID: Final = "gen_ai.tool.call.id"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
MODEL: Final = "gen_ai.request.model"
ANSWERED_BY: Final = "gen_ai.response.model"
FIRST_TEXT_S: Final = "gen_ai.response.time_to_first_chunk"
TOKENS_IN: Final = "gen_ai.usage.input_tokens"
TOKENS_OUT: Final = "gen_ai.usage.output_tokens"
TOKENS_CACHED: Final = "gen_ai.usage.cache_read.input_tokens"
COST: Final = "gen_ai.usage.cost"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"

SESSION: Final = "session.id"
USER: Final = "user.id"
ERROR_TYPE: Final = "error.type"

SPAN_KIND: Final = "openinference.span.kind"
INPUT: Final = "input.value"
INPUT_FORM: Final = "input.mime_type"
OUTPUT: Final = "output.value"
OUTPUT_FORM: Final = "output.mime_type"

FRAME: Final = "parley.frame"
MEETING: Final = "parley.meeting"
PURPOSE: Final = "parley.purpose"
STOPPED: Final = "parley.stopped"
WAITS_FOR: Final = "parley.waits_for"
WAITED_S: Final = "parley.waited_s"
PLATFORM: Final = "parley.platform"
DELIVERED: Final = "parley.delivered"
STEP: Final = "parley.step"
TRIGGER: Final = "parley.trigger"
RULE: Final = "parley.rule"

INVOKE_WORKFLOW: Final = "invoke_workflow"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
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
    told: dict[str, str | None] = {SESSION: about.session_id, CONVERSATION: about.conversation}
    told |= {USER: about.participant_id, MEETING: about.meeting_id}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: FrameAbout) -> dict[str, str]:
    return {AGENT_NAME: about.agent, AGENT_ID: str(about.agent_id)}


def attributes_of(about: FrameAbout) -> dict[str, str]:
    found = whose(about) | agent_of(about) | {FRAME: about.frame}
    if about.kind == "llm":
        return found | {OPERATION: INVOKE_AGENT, SPAN_KIND: "CHAIN"}
    found |= {OPERATION: EXECUTE_TOOL, SPAN_KIND: "TOOL", TOOL_NAME: title_of(about)}
    return found | {
        TOOL_TYPE: "extension" if about.kind == "remote" else "function",
        CALL_ID: about.frame,
    }


class SpanContent:
    """Attributes with content; empty while content is off."""

    def __init__(self, masking: SecretMasking, *, on: bool) -> None:
        self._masking = masking
        self._on = on

    def input(self, arguments: Any, name: str) -> Mapping[str, str]:
        """The arguments of a playbook, also as the attribute `name`."""
        if not self._on or arguments is None:
            return {}
        text = self._data(arguments)
        return {INPUT: text, INPUT_FORM: _JSON, name: text}

    def output(self, value: Any, name: str) -> Mapping[str, str]:
        if not self._on:
            return {}
        text = self._data(value)
        return {OUTPUT: text, OUTPUT_FORM: _JSON, name: text}

    def prompt(self, messages: Sequence[ChatMessage] | None) -> Mapping[str, str]:
        if not self._on or messages is None:
            return {}
        told = [_message(message.role, self._text(message.content)) for message in messages]
        text = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        return {
            INPUT_MESSAGES: json.dumps(told, ensure_ascii=False),
            INPUT: self._text(text),
            INPUT_FORM: _TEXT,
        }

    def reply(self, text: str | None) -> Mapping[str, str]:
        if not self._on or text is None:
            return {}
        said = self._text(text)
        answer = [_message("assistant", said) | {"finish_reason": "stop"}]
        return {
            OUTPUT_MESSAGES: json.dumps(answer, ensure_ascii=False),
            OUTPUT: said,
            OUTPUT_FORM: _TEXT,
        }

    def failure(self, kind: str, text: str) -> tuple[str, str | None]:
        """An error's type, and its text, which may quote what was said."""
        return kind, self._text(text) if self._on else None

    def _data(self, value: Any) -> str:
        return self._text(json.dumps(value, ensure_ascii=False, default=str))

    def _text(self, text: str) -> str:
        text = self._masking.masked(text)
        return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}… ({len(text)} characters)"


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
