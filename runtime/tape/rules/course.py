"""The fold's rules about the course of a walked playbook: where control is, and what was heard and said there."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.tape.facts.frames import StepReached, StepReturned
from runtime.tape.rules.registry import rule
from runtime.tape.state.frames import MAX_TRAIL, FrameState
from runtime.tape.state.session import SessionState
from runtime.tape.state.talk import keep_said


@rule(StepReached)
def _step(state: SessionState, seq: int, fact: StepReached) -> None:
    """Control reaches an instruction: the effects of the one before go into the exchange, its calls are forgotten."""
    frame = state.frames[fact.frame]
    frame.at, frame.step = fact.at, f"{frame.playbook}:{fact.at}:{fact.op}"
    frame.at_seq = seq
    frame.trail.append((fact.at, {line: dict(loop) for line, loop in frame.loops.items()}))
    del frame.trail[:-MAX_TRAIL]
    for line, loop in fact.loops.items():
        if loop is None:
            frame.loops.pop(line, None)
        else:
            frame.loops[line] = {**frame.loops.get(line, {}), **loop}
    frame.heard = frame.heard if fact.heard is None else fact.heard
    if fact.heard and not frame.inbox:  # what the session began with
        keep_said(frame, "user", fact.heard)
    frame.unwaited += 1
    tell(frame, fact.notes, fact.said)
    frame.records, frame.order, frame.statements, frame.turn_steps = {}, [], [], []
    frame.rejections, frame.ending, frame.prelude = [], None, []


@rule(StepReturned)
def _back(state: SessionState, seq: int, fact: StepReturned) -> None:
    """Control goes back to an instruction, with the loops as they were there."""
    frame = state.frames[fact.frame]
    index = fact.to
    line, loops = frame.trail[index]
    frame.loops = {known: dict(loop) for known, loop in loops.items()}
    frame.trail = frame.trail[:index]
    _step(state, seq, StepReached(fact.frame, line, fact.op, fact.loops, fact.heard, fact.notes, fact.said))


def tell(frame: FrameState, notes: Sequence[str], said: Sequence[str]) -> None:
    """The effects of a step go into the exchange."""
    frame.notes += notes
    frame.said += said


def hear(frame: FrameState, heard: str, notes: Sequence[str], said: Sequence[str]) -> None:
    """An exchange ends with what is heard next."""
    tell(frame, notes, said)
    end_exchange(frame)
    frame.heard, frame.unwaited = heard, 0


def spoke(state: SessionState, frame: FrameState | None) -> None:
    """Something was said or asked: by a frame, and so by those that called it."""
    while frame is not None:
        frame.spoken += 1
        frame = _caller(state, frame)


def waited(state: SessionState, frame: FrameState | None) -> None:
    """Somebody was waited for: by a frame, and so by those that called it."""
    while frame is not None:
        frame.spoken = 0
        for loop in frame.loops.values():
            loop.update(dict.fromkeys(loop.keys() & {"idle", "same"}, 0))
        frame = _caller(state, frame)


def _caller(state: SessionState, frame: FrameState) -> FrameState | None:
    return state.frames.get(frame.caller.frame) if frame.caller is not None else None


def changed(frame: FrameState) -> None:
    """Something is not as it was when the present rounds of its loops began."""
    for loop in frame.loops.values():
        loop.update(dict.fromkeys(loop.keys() & {"same"}, 0))


def end_exchange(frame: FrameState) -> None:
    """The exchange becomes part of the frame's transcript."""
    if frame.exchange is not None:
        frame.transcript.append(frame.exchange)
        frame.said_before = frame.said
    frame.heard, frame.notes, frame.said = "", [], []
