"""The meaning of the names in a frame's instructions."""

from __future__ import annotations

from typing import Any

from runtime.execution.frames.frame import Frame
from runtime.language.instructions.conditions.meanings import MEETING_ACTIVE
from runtime.tape.state.session import SessionState


def names_of(state: SessionState, frame: Frame, state_params: frozenset[str]) -> dict[str, Any]:
    """Every name with its value: the agent's variables, overridden by the playbook's parameters."""
    own = {name: value for name, value in frame.state.kwargs.items() if name not in state_params}
    return {**frame.agent.variables, **own, **frame.state.locals, MEETING_ACTIVE: in_meeting(state, frame)}


def in_meeting(state: SessionState, frame: Frame) -> bool:
    """Whether the frame's meeting is active with its agent in it."""
    meeting = state.meetings.get(frame.state.meeting or "")
    if meeting is None:
        return any(m.status != "ended" and frame.state.agent in m.joined for m in state.meetings.values())
    return meeting.status != "ended" and frame.state.agent in meeting.joined
