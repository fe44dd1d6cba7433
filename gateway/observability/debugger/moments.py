"""The moments at which execution can stop, and which of them end a step of the debugger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gateway.observability.debugger.sources import Place

MomentKind = Literal["called", "step", "statement", "call", "returned", "failed", "rejected"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A frame before what it does next: a playbook that was called, a step in English, a statement of one, a host call
    of Python; or with what came of it.

    `places` are all lines of sources at which that stands. `names` are those of the playbook, where it is called.
    `about` is the statement, the call or the error; `line` is the step's. `again` says that the step stands on the same
    line as the one before it.
    """

    kind: MomentKind
    frame: str
    agent: str
    places: tuple[Place, ...] = ()
    names: tuple[str, ...] = ()
    about: str = ""
    line: str = ""
    value: Any = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Stepping:
    """A step from a frame of an agent to a nearby moment. `fine` stops at every statement."""

    how: Literal["next", "in", "out"]
    frame: str
    agent: str
    fine: bool = False

    def ends_at(self, moment: Moment, *, alive: bool) -> bool:
        """Whether to stop here. `alive`: the frame from which the step started is still on the stack."""
        frame = moment.frame
        if frame == self.frame:
            return self.how != "out" and self._own(moment)
        if frame.startswith(self.frame + ":"):
            return self.how == "in" and self._own(moment)
        if alive:
            return False
        caller = self.frame.startswith(frame + ":")
        if caller:
            return moment.kind in ("step", "statement", "call", "returned")
        return ":" not in frame and moment.agent == self.agent and moment.kind == "called"

    def _own(self, moment: Moment) -> bool:
        if moment.kind == "statement":
            return self.fine
        return moment.kind in ("called", "call", "returned") or (moment.kind == "step" and not moment.again)
