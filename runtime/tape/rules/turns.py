"""The fold's rules about a turn that a model answers in statements: each of them, and how the turn ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.tape.frame_state import SHARED, Ending, StatementState
from runtime.tape.state import SessionState

Data = Mapping[str, Any]


def _stmt(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    variables = dict(state.agents[frame.agent].variables)
    if frame.meeting is not None and any(SHARED in source for source in (data["src"], *frame.prelude)):
        shared = state.meetings[frame.meeting].shared
        variables.setdefault(SHARED, {name: known.value for name, known in shared.items()})
    frame.statements.append(StatementState(data["src"], variables, remarks=list(data.get("re") or ())))


def _done(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.statements[-1].done = True
    frame.locals.update(data.get("loc") or {})
    frame.prelude.extend(data.get("prelude") or [])


def _failed(state: SessionState, _: int, data: Data) -> None:
    statement = state.frames[data["f"]].statements[-1]
    statement.done = True
    statement.error = (data["exc"][0], data["exc"][1])


def _rej(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].rejections.append({k: v for k, v in data.items() if k != "f"})


def _end(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.ending = Ending(data["how"], data.get("val"))
    if frame.statements:
        frame.statements[-1].done = True


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "stmt": _stmt,
    "done": _done,
    "failed": _failed,
    "rej": _rej,
    "end": _end,
}
