"""The variables of a frame in scopes, as an editor shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from runtime.core.errors import DebugError
from runtime.language.program import PlaybookSpec
from runtime.tape.state.frames import SHARED, FrameState
from runtime.tape.state.session import SessionState

MAX_SHOWN_CHARS = 1000
"""The longest value on one line; its parts can be unfolded."""

MAX_AT_ONCE = 1000
"""The number of a value's parts shown at once."""

MAX_REFERENCES = 100_000
"""The number of values that an editor may unfold while sessions are stopped."""


def names_of(state: SessionState, frame: FrameState, spec: PlaybookSpec | None) -> dict[str, Any]:
    """The values of plain names in a frame: its agent's variables, its arguments, its locals."""
    shared = shared_by(state, frame)
    return {
        **({SHARED: shared} if shared is not None else {}),
        **state.agents[frame.agent].variables,
        **arguments_of(frame, spec),
        **frame.locals,
    }


def arguments_of(frame: FrameState, spec: PlaybookSpec | None) -> dict[str, Any]:
    """The arguments that are no variables of the agent."""
    kept = {param.name for param in spec.params if param.state} if spec is not None else set()
    return {name: value for name, value in frame.kwargs.items() if name not in kept}


def shared_by(state: SessionState, frame: FrameState) -> dict[str, Any] | None:
    """The shared state of the frame's meeting; None outside of one."""
    meeting = state.meetings.get(frame.meeting or "")
    return None if meeting is None else {name: known.value for name, known in meeting.shared.items()}


@dataclass
class References:
    """The numbers by which an editor refers to values and frames while their session is stopped."""

    _of: dict[int, tuple[object, Any]] = field(default_factory=dict)
    _next: Iterator[int] = field(default_factory=lambda: count(1))

    def give(self, owner: object, what: Any) -> int:
        """A number for an object of `owner`."""
        if len(self._of) >= MAX_REFERENCES:
            raise DebugError("too many values are unfolded; continue or step to close them")
        number = next(self._next)
        self._of[number] = (owner, what)
        return number

    def get(self, number: int) -> tuple[Any, Any]:
        """The owner and the object of a number. Raises DebugError when it is void."""
        try:
            return self._of[number]
        except KeyError:
            raise DebugError("this belongs to a session that is running again; look at where it stops next") from None

    def forget(self, owner: object) -> None:
        """Make the numbers of `owner` void."""
        self._of = {number: given for number, given in self._of.items() if given[0] is not owner}


def shown(references: References, owner: object, name: str, value: Any) -> dict[str, Any]:
    """A variable for the protocol."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    body: dict[str, Any] = {"name": name, "value": _cut(text), "type": type(value).__name__, "variablesReference": 0}
    if name.isidentifier():
        body["evaluateName"] = name
    if isinstance(value, list | dict) and value:
        body["variablesReference"] = references.give(owner, value)
        body["indexedVariables" if isinstance(value, list) else "namedVariables"] = len(value)
    return body


def parts(
    references: References, owner: object, value: Any, first: int, most: int, wanted: str | None
) -> list[dict[str, Any]]:
    """The parts of a value: `most` of them (0: all) from `first`; only the `wanted` kind, named or indexed."""
    if wanted is not None and wanted != ("indexed" if isinstance(value, list) else "named"):
        return []
    pairs: Iterator[tuple[str, Any]]
    if isinstance(value, list):
        pairs = ((f"[{index}]", value[index]) for index in range(max(0, first), len(value)))
    else:
        pairs = islice(((str(name), one) for name, one in value.items()), max(0, first), None)
    limit = min(most, MAX_AT_ONCE) if most > 0 else MAX_AT_ONCE
    return [shown(references, owner, name, one) for name, one in islice(pairs, limit)]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}… ({len(text):,} characters in all)"


def scopes_of(state: SessionState, frame: FrameState, spec: PlaybookSpec | None) -> list[tuple[str, Mapping[str, Any]]]:
    """The scopes of a frame, the nearest first."""
    own = {**arguments_of(frame, spec), **frame.locals}
    agent = state.agents[frame.agent]
    scopes: list[tuple[str, Mapping[str, Any]]] = [("Locals", own), (f"Agent {agent.klass}", agent.variables)]
    shared = shared_by(state, frame)
    if shared is not None:
        scopes.append((f"Shared in meeting {frame.meeting}", shared))
    return scopes
