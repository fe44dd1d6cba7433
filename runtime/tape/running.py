"""The code of a session that runs now, about which the tape knows nothing."""

from __future__ import annotations

from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import SessionState


class RunningCode:
    """Frames whose code works, and calls under way that are neither waits nor playbooks.

    However many frames wait, only those that may be working are looked at.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self.frames: set[str] = set()
        """The frames whose code does not wait for a fact."""
        self.calls: set[CallKey] = set()
        """The calls of which it is not known that they wait."""
        self.hidden: dict[str, set[str]] = {}
        """The playbooks in execution of which the code that they are executed for does not know, by frame."""

    def any(self) -> bool:
        return any(map(self._works, self.frames)) or any(map(self._performs, list(self.calls)))

    def _works(self, frame: str) -> bool:
        """Whether the code of a frame works: it waits for no message, and for no playbook that it does not know."""
        state = self._state
        if frame not in state.frames or CallKey(frame, TURN) in state.waits:
            return False
        return not any(child in state.frames for child in self.hidden.get(frame, ()))

    def _performs(self, made: CallKey) -> bool:
        """Whether a call is carried out now: it waits for nothing, and executes no playbook."""
        state = self._state
        made_by = state.frames.get(made.frame)
        if made_by is None or made.pos in made_by.records or made in state.waits:
            self.calls.discard(made)
            return False
        return next(state.below(f"{made.frame}:{made.pos}"), None) is None
