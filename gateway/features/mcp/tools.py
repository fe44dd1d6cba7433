"""Public playbooks as tools of the Model Context Protocol, and the tools for tasks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool, ToolAnnotations

from runtime.execution.questions.form import type_schema
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program

KEY = "parley/idempotencyKey"
"""In `_meta` of a call: the name of the order, by which a repetition is the same order. Tools say by it that they do
once what comes under one key."""

START, STATUS, RESULT, ANSWER = "start_task", "task_status", "task_result", "answer_task"

MAX_NAME_CHARS = 64
"""The longest name of a tool that every known client takes."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
_READS = ToolAnnotations(read_only_hint=True)
_TASK = {"type": "string", "description": "The id of the task."}


@dataclass(frozen=True, slots=True)
class PlaybookTool:
    """A playbook that a client may order, and the tool by which it does."""

    program: str
    agent: str
    playbook: str
    tool: Tool


def playbook_tools(orderable: Iterable[tuple[Program, AgentSpec, PlaybookSpec]]) -> Mapping[str, PlaybookTool]:
    """The tools of playbooks, by name; no name occurs twice."""
    found: dict[str, PlaybookTool] = {}
    for program, agent, playbook in orderable:
        name = _free(_FORBIDDEN.sub("_", f"{program.name}-{agent.name}-{playbook.name}")[:MAX_NAME_CHARS], found)
        tool = Tool(
            name=name,
            title=f"{agent.name}: {playbook.name}",
            description=playbook.description or f"{playbook.name} of {agent.name}, in the program {program.name}.",
            input_schema=parameters_schema(playbook.params),
            annotations=ToolAnnotations(read_only_hint=True) if playbook.pure else None,
            _meta={KEY: True},
        )
        found[name] = PlaybookTool(program.name, agent.name, playbook.name, tool)
    return found


def parameters_schema(params: Sequence[Param]) -> dict[str, Any]:
    """The JSON Schema of a playbook's arguments, by the names of its parameters."""
    return {
        "type": "object",
        "properties": {param.name: _property(param) for param in params},
        "required": [param.name for param in params if param.default is None],
        "additionalProperties": False,
    }


def task_tools() -> list[Tool]:
    """The tools for tasks that outlast a call."""
    order = {
        "program": {"type": "string"},
        "agent": {"type": "string", "description": "The agent's class."},
        "playbook": {"type": "string", "description": "A public playbook of this agent."},
        "arguments": {"type": "object", "description": "Values by the names of the parameters."},
        "within_s": {"type": "number", "exclusiveMinimum": 0, "description": "The time limit, in seconds."},
        "limits": {"type": "object", "description": "tokens and dollars that it may cost."},
        "key": {"type": "string", "description": "A name of this order: the same one again gives the same task."},
    }
    wait = {"type": "number", "minimum": 0, "maximum": 60, "description": "How long to wait, in seconds."}
    answer = {
        "task": _TASK,
        "text": {"type": "string", "description": "What is said: an option, or words."},
        "id": {"type": "string", "description": "A name of this answer: the same one again changes nothing."},
    }
    return [
        Tool(
            name=START,
            description="Have a playbook executed in the background. Gives the id of the task at once.",
            input_schema=_object(order, ["program", "agent", "playbook"]),
            _meta={KEY: True},
        ),
        Tool(
            name=STATUS,
            description="How far a task has come, without waiting.",
            input_schema=_object({"task": _TASK}, ["task"]),
            annotations=_READS,
        ),
        Tool(
            name=RESULT,
            description="The result of a task, waited for: its value or error once it is over, or what it asks.",
            input_schema=_object({"task": _TASK, "wait_s": wait}, ["task"]),
            annotations=_READS,
        ),
        Tool(
            name=ANSWER,
            description="Answer what a task asks, or tell it something.",
            input_schema=_object(answer, ["task", "text", "id"]),
            annotations=ToolAnnotations(idempotent_hint=True),
        ),
    ]


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, Any]:
    """The schema of a parameter: of its type if it has one, with its default if that is a literal."""
    found = type_schema(param.type, optional=param.default == "None") if param.type else {}
    if param.default is not None:
        try:
            default = ast.literal_eval(param.default)
        except (ValueError, SyntaxError):
            return found
        if isinstance(default, str | int | float | bool | list | dict | None):
            found = {**found, "default": default}
    return found


def _free(name: str, taken: Mapping[str, PlaybookTool]) -> str:
    number, free = 2, name
    while free in taken or free in (START, STATUS, RESULT, ANSWER):
        free = f"{name[: MAX_NAME_CHARS - 4]}_{number}"
        number += 1
    return free
