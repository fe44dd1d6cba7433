"""The names of spans and of their attributes.

`gen_ai.*`, `error.type`: OpenTelemetry's semantic conventions for generative AI, in development
(github.com/open-telemetry/semantic-conventions-genai, model/gen-ai). `session.id`, `user.id`: its general conventions.
`input.*`, `output.*`, `openinference.span.kind`: OpenInference (github.com/Arize-ai/openinference,
spec/semantic_conventions.md), read by Phoenix, and by Langfuse where it does not know the former. `gen_ai.usage.cost`:
Langfuse's (langfuse.com/docs, OpenTelemetry, property mapping). `parley.*` are ours.
"""

from __future__ import annotations

from typing import Final

from gateway.observability.tracing import names
from runtime.events.frames import FrameAbout

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


def title_of(about: FrameAbout) -> str:
    """The name of a frame's span: `Agent.Playbook`."""
    playbook = about.playbook
    return playbook if about.kind == "remote" else f"{about.agent}.{playbook}"


def whose(about: FrameAbout) -> dict[str, str]:
    """The attributes of every span."""
    told: dict[str, str | None] = {names.SESSION: about.session_id, names.CONVERSATION: about.conversation}
    told |= {names.USER: about.participant_id, names.MEETING: about.meeting_id}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: FrameAbout) -> dict[str, str]:
    """The attributes of the working agent."""
    return {names.AGENT_NAME: about.agent, names.AGENT_ID: str(about.agent_id)}


def attributes_of(about: FrameAbout) -> dict[str, str]:
    """The attributes of a frame's span."""
    found = whose(about) | agent_of(about) | {names.FRAME: about.frame}
    if about.kind == "llm":
        return found | {names.OPERATION: names.INVOKE_AGENT, names.SPAN_KIND: "CHAIN"}
    found |= {names.OPERATION: names.EXECUTE_TOOL, names.SPAN_KIND: "TOOL", names.TOOL_NAME: title_of(about)}
    return found | {
        names.TOOL_TYPE: "extension" if about.kind == "remote" else "function",
        names.CALL_ID: about.frame,
    }
