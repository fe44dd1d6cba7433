"""What is true now, as the model sees it: where a frame stands, what it knows, who is there."""

from __future__ import annotations

import json
from typing import Any

from runtime.core.message import Attachment
from runtime.tape.state import FrameState, SessionState

MAX_VALUE_CHARS = 2000
"""A value longer than this is shown to the model by its beginning and its length."""

MAX_LISTED_FILES = 10
"""The model is told of so many files that people sent."""


def situation(state: SessionState, frame: FrameState) -> str:
    """What is true now: call stack, arguments, variables, agents and meetings."""
    agent = state.agents[frame.agent]
    shown = {name: value for name, value in agent.variables.items() if name != "_"}
    lines = [f"You execute {frame.playbook} as {agent.klass} (agent {agent.id})."]
    lines.append("Call stack: " + ", ".join(stack_entries(state, frame)))
    if frame.kwargs or frame.args:
        lines.append(f"Arguments: {shown_value(frame.kwargs or frame.args)}")
    lines.append("Variables: " + ("; ".join(f"${n} = {shown_value(v)}" for n, v in shown.items()) or "none"))
    if frame.locals:
        lines.append("Locals: " + "; ".join(f"{n} = {shown_value(v)}" for n, v in frame.locals.items()))
    others = [f"{a.klass} (agent {a.id})" for a in state.agents.values() if a.id != agent.id]
    if others:
        lines.append("Other agents: " + ", ".join(others))
    people = sorted({person.name for person in state.people.values()})
    if len(people) > 1:
        lines.append("People here: " + ", ".join(people))
    if state.files:
        lines.append("Files people sent: " + "; ".join(file_line(file) for file in state.files[-MAX_LISTED_FILES:]))
    lines += [
        f"Meeting {meeting.id} ({meeting.topic}): {', '.join(f'agent {who}' for who in meeting.joined)}"
        for meeting in state.meetings.values()
        if meeting.status != "ended" and agent.id in meeting.joined
    ]
    return "\n".join(lines)


def stack_entries(state: SessionState, frame: FrameState) -> list[str]:
    """The call stack, innermost first, as `Main:03` or `Talk:01[meeting 100]`."""
    entries = []
    current: FrameState | None = frame
    while current is not None:
        at = f":{current.step.split(':', 1)[1]}" if current.step and ":" in current.step else ""
        meeting = f"[meeting {current.meeting}]" if current.meeting else ""
        entries.append(f"{current.playbook}{at}{meeting}")
        current = state.frames.get(current.caller.frame) if current.caller else None
    return entries


def shown_value(value: Any, max_chars: int = MAX_VALUE_CHARS) -> str:
    """A value as the model sees it: JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text)} characters in all)"


def file_line(file: Attachment) -> str:
    """A file as the model sees it: `file report.csv (text/csv, 1,234 bytes)`."""
    kind = _KINDS.get(file.media_type.partition("/")[0], "file")
    size = "" if file.size_bytes is None else f", {file.size_bytes:,} bytes"
    return f"{kind} {file.name} ({file.media_type}{size})"


_KINDS = {"image": "image", "audio": "voice or sound", "video": "video"}
