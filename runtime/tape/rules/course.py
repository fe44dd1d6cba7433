"""The fold's rules about the course of a walked playbook: where control is, and what was heard and said there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.tape.frame_state import MAX_TRAIL, FrameState
from runtime.tape.state import SessionState
from runtime.tape.talk import keep_said

Data = Mapping[str, Any]


def _step(state: SessionState, seq: int, data: Data) -> None:
    """Control reaches an instruction: the effects of the one before go into the exchange, its calls are forgotten."""
    frame = state.frames[data["f"]]
    frame.at, frame.step = data["at"], f"{frame.playbook}:{data['at']}:{data['op']}"
    frame.at_seq = seq
    frame.trail.append((data["at"], {line: dict(loop) for line, loop in frame.loops.items()}))
    del frame.trail[:-MAX_TRAIL]
    for line, loop in (data.get("loops") or {}).items():
        if loop is None:
            frame.loops.pop(line, None)
        else:
            frame.loops[line] = {**frame.loops.get(line, {}), **loop}
    frame.heard = data.get("heard", frame.heard)
    if data.get("heard") and not frame.inbox:  # what the session began with
        keep_said(frame, "user", data["heard"])
    frame.unwaited += 1
    tell(frame, data)
    frame.records, frame.order, frame.statements, frame.turn_steps = {}, [], [], []
    frame.rejections, frame.ending, frame.prelude = [], None, []


def _back(state: SessionState, seq: int, data: Data) -> None:
    """Control goes back to an instruction, with the loops as they were there."""
    frame = state.frames[data["f"]]
    index = int(data["to"])
    line, loops = frame.trail[index]
    frame.loops = {known: dict(loop) for known, loop in loops.items()}
    frame.trail = frame.trail[:index]
    _step(state, seq, {**data, "at": line})


def tell(frame: FrameState, data: Data) -> None:
    """The effects of a step go into the exchange."""
    frame.notes += data.get("notes") or []
    frame.said += data.get("said") or []


def hear(frame: FrameState, data: Data) -> None:
    """An exchange ends with what is heard next."""
    tell(frame, data)
    end_exchange(frame)
    frame.heard, frame.unwaited = data["heard"], 0


def end_exchange(frame: FrameState) -> None:
    """The exchange becomes part of the frame's transcript."""
    if frame.exchange is not None:
        frame.transcript.append(frame.exchange)
        frame.said_before = frame.said
    frame.heard, frame.notes, frame.said = "", [], []


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {"step": _step, "back": _back}
