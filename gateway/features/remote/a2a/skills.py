"""An agent's skills as tools, and what comes of a call. Strangers write both, so they are limited further on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from a2a.types import AgentCard, AgentSkill, Artifact, Message, Part, Role, Task, TaskState
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value
from mcp_types import CallToolResult, TextContent, Tool

from gateway.features.remote.tools import KEY
from runtime.core.json_text import with_whole_numbers

ONCE = "urn:parley:once-by-message-id"
"""The extension of an agent that does once what comes under one messageId."""

UTTERANCE = "urn:parley:utterance"
"""In the metadata of an artifact: it is what an agent of Parley says, and no result."""

SKILL = "skill"
"""In the metadata of a message: the skill that is wanted. Agents that do not know it go by the words."""

TEXT, DATA, TASK = "text", "data", "task"
"""The parameters of every skill."""

ENDS = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
ASKS = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})

_MAX_SKILLS = 200
_MAX_EXAMPLES = 3
_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        TEXT: {"type": "string", "description": "what is wanted, in words"},
        DATA: {"type": "object", "description": "arguments by name, where the skill takes some"},
        TASK: {"type": "string", "description": "the task whose question this answers"},
    },
    "additionalProperties": False,
}


def tools_of(card: AgentCard) -> list[Tool]:
    """A tool for each skill; one for all that the agent does where it names none."""
    once = any(extension.uri == ONCE for extension in card.capabilities.extensions)
    skills: Sequence[AgentSkill] = card.skills[:_MAX_SKILLS] or [AgentSkill(id="ask", description=card.description)]
    return [
        Tool(
            name=skill.id or "ask",
            description=_described(skill),
            input_schema=dict(_PARAMETERS),
            _meta={KEY: True} if once else None,
        )
        for skill in skills
    ]


def message_of(skill: str, arguments: Mapping[str, Any], key: str) -> Message:
    """The message by which a skill is called, under a key that is the same at every repetition."""
    message = Message(message_id=key, role=Role.ROLE_USER, task_id=arguments.get(TASK) or "")
    message.metadata.CopyFrom(ParseDict({SKILL: skill}, Struct()))
    text, data = arguments.get(TEXT), arguments.get(DATA)
    if text:
        message.parts.append(Part(text=text))
    if data is not None or not text:
        message.parts.append(Part(data=ParseDict(data or {}, Value())))
    return message


def result_of(came: Task | Message) -> CallToolResult:
    """What a call came to: the artifacts of a task, else its last words; what failed or asks is an error."""
    if isinstance(came, Message):
        return _result(came.parts)
    state, said = came.status.state, _words(came.status.message.parts)
    if state in ASKS:
        asked = said or "it does not say what"
        return _error(f"it asks: {asked}. Call it again with the answer and task={came.id!r}")
    if state != TaskState.TASK_STATE_COMPLETED:
        how = TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", " ")
        return _error(f"its task has {how}: {said}" if said else f"its task has {how}")
    results = [artifact for artifact in came.artifacts if UTTERANCE not in artifact.metadata.fields]
    parts = [part for artifact in results for part in artifact.parts]
    return _result(parts or came.status.message.parts or _last_words(came))


def merged(task: Task, artifact: Artifact, *, append: bool) -> None:
    """Take an artifact, or more of it, into a task."""
    for known in task.artifacts:
        if known.artifact_id == artifact.artifact_id:
            if append:
                _append(known, artifact.parts)
            else:
                known.CopyFrom(artifact)
            return
    task.artifacts.append(artifact)


def _append(artifact: Artifact, more: Sequence[Part]) -> None:
    """Texts that follow each other are pieces of one text."""
    for part in more:
        last = artifact.parts[-1] if artifact.parts else None
        if last is not None and last.WhichOneof("content") == part.WhichOneof("content") == "text":
            last.text += part.text
        else:
            artifact.parts.append(part)


def _described(skill: AgentSkill) -> str:
    examples = "; ".join(skill.examples[:_MAX_EXAMPLES])
    return " ".join(
        part for part in (skill.description or skill.name, f"Examples: {examples}" * bool(examples)) if part
    )


def _last_words(task: Task) -> Sequence[Part]:
    said = [message for message in task.history if message.role == Role.ROLE_AGENT]
    return said[-1].parts if said else []


def _result(parts: Sequence[Part]) -> CallToolResult:
    """Data alone are given as they are, everything else as text."""
    if len(parts) == 1 and parts[0].WhichOneof("content") == "data":
        return CallToolResult(content=[], structured_content=with_whole_numbers(MessageToDict(parts[0].data)))
    return CallToolResult(content=[TextContent(type="text", text=_words(parts))])


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _words(parts: Sequence[Part]) -> str:
    return "\n".join(_word(part) for part in parts)


def _word(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text
        case "data":
            return json.dumps(with_whole_numbers(MessageToDict(part.data)), ensure_ascii=False)
        case "url":
            return f"[{part.filename or part.media_type or 'a file'}: {part.url}]"
    return f"[{part.filename or part.media_type or 'a file'}, {len(part.raw):,} bytes, left out]"
