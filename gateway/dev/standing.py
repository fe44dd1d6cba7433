"""Where a session stands, as the board shows it: its agents, what each executes, with which values."""

from __future__ import annotations

import json
import re
from typing import Any

from gateway.observability.debugger.sources import step_of
from gateway.observability.debugger.variables import arguments_of
from runtime.authoring.explain import PartKind, StepPart, explain
from runtime.execution.session_context import WatchedSession
from runtime.language.instructions.decode import decode
from runtime.language.program import PlaybookSpec, Step
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import AgentState, SessionState

MAX_VALUE_CHARS = 400
MAX_VARIABLES = 100

_TYPED = re.compile(r"(\$\w+):\w+")


def standing(watched: WatchedSession) -> dict[str, Any]:
    """A session as JSON data: its program, whether it has ended, its agents, each with its stack, innermost first."""
    state = watched.journal.state
    agents = [_agent(watched, state, agent) for agent in state.agents.values()]
    return {"program": watched.program.name, "ended": state.ended, "agents": agents}


def _agent(watched: WatchedSession, state: SessionState, agent: AgentState) -> dict[str, Any]:
    frames = [frame for frame in reversed(state.frames.values()) if frame.agent == agent.id]
    waiting = {wait.frame for wait in state.waits.values()}
    return {
        "id": agent.id,
        "name": f"{agent.klass}{state.number_of(agent)}",
        "waits": any(frame.id in waiting for frame in frames),
        "stack": [_entry(watched, agent, frame) for frame in frames],
        "variables": _shown(agent.variables),
    }


def line_of(watched: WatchedSession, frame: FrameState) -> tuple[str, int]:
    """The file and the line of the step that a frame is at; ("", 0) where it is at none."""
    agent = watched.journal.state.agent(frame.agent)
    _, step = (None, None) if agent is None else _at(watched, agent, frame)
    return ("", 0) if step is None else (step.span.file, step.span.line)


def _at(watched: WatchedSession, agent: AgentState, frame: FrameState) -> tuple[PlaybookSpec | None, Step | None]:
    klass = watched.program.agent(agent.klass)
    spec = None if klass is None else klass.playbook(frame.playbook)
    if spec is None:
        return None, None
    return spec, spec.step(frame.at) if frame.at is not None else step_of(spec, frame.step)


def _entry(watched: WatchedSession, agent: AgentState, frame: FrameState) -> dict[str, Any]:
    spec, step = _at(watched, agent, frame)
    span = step.span if step is not None else None if spec is None else spec.span
    return {
        "playbook": frame.playbook,
        "step": "" if step is None else step.line,
        "text": "" if step is None else in_words(step, walked=spec is not None and spec.walked),
        "file": "" if span is None else span.file,
        "line": 0 if span is None else span.line,
        "arguments": _shown(arguments_of(frame, spec) | frame.locals),
    }


def in_words(step: Step, *, walked: bool) -> str:
    """What is done in a step, in sentences; the author's words where a model reads them."""
    return " ".join(filter(None, map(_sentence, explain(decode(step))))) if walked else step.text


def _sentence(part: StepPart) -> str:
    """A part of a step without types; "" for what is said in the part before it."""
    text, (head, _, words) = part.text, part.text.partition(": ")
    if head == "The answer":
        return ""
    if part.kind is PartKind.WORDS and head.removeprefix("A message to ").lower() in words.lower():
        text = words
    text = _TYPED.sub(r"\1", text)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _shown(values: dict[str, Any]) -> dict[str, str]:
    """The values as text, the first ones and each cut, without private ones."""
    found: dict[str, str] = {}
    named = [(name, value) for name, value in values.items() if not name.startswith("_")]
    for name, value in named[:MAX_VARIABLES]:
        text = json.dumps(value, ensure_ascii=False, default=str)
        found[name] = text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"
    return found
