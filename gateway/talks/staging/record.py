"""The record of a talk, beat by beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from runtime.tape.state.session import SessionState

StepPlace: TypeAlias = tuple[str, str, str]
"""A step: its agent, its playbook and its number."""


@dataclass(slots=True)
class SeenMessage:
    """A message that people see, as it is at the end. `place` is its number among all; `choices` are ids by label."""

    who: str
    text: str = ""
    place: int = 0
    choices: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call of a playbook, with its arguments by name."""

    agent: str
    playbook: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.agent}.{self.playbook}({listed})"


@dataclass(slots=True)
class BeatRecord:
    """The outcome of a beat. `variables` are those after it, by agent.

    `fault` is what must not be in a test: a question to the model that nobody wrote an answer to, no rest, nothing to
    press.
    """

    seen: list[SeenMessage] = field(default_factory=list)
    letters: list[tuple[str, str]] = field(default_factory=list)
    """What agents in other processes were told, with their names."""
    calls: list[SeenCall] = field(default_factory=list)
    steps: list[StepPlace] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    """What came of what events began: texts as they are, other values as JSON."""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ended: bool = False
    waits: str = ""
    """What the program waits for that will not come by itself, for people."""
    fault: str = ""
    verdicts: dict[int, str] = field(default_factory=dict)
    """What the judge has against a line, by its number; "" for nothing."""


def waits_in(state: SessionState, now: datetime) -> str:
    """What a session waits for by the clock, for people; "" for nothing."""
    due = [wait.due for wait in state.waits.values() if wait.due is not None]
    if not due:
        return ""
    left_s = min(due) - now.timestamp()
    return f"it waits for a time, {left_s:g} seconds from now; `wait {left_s:g} seconds` lets it come"
