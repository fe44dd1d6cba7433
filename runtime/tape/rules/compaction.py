"""The fold's rule about what a frame's past is cut to. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.tape.state import SessionState

Data = Mapping[str, Any]


def _compact(state: SessionState, _: int, data: Data) -> None:
    """The first `turns` turns are told by `summary` from now on, in front of those that are left. The facts stay."""
    frame = state.frames[data["f"]]
    first, *rest = frame.transcript[data["turns"] :]
    frame.transcript = [{"heard": f"{data['summary']}\n\n{first['heard']}", "said": first["said"]}, *rest]


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {"compact": _compact}
