"""The state of what others are to hear of: failures that nobody caught, published events, and reminders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.core.ids import AgentId


@dataclass(slots=True)
class ReminderState:
    """An agent's reminder: its text and its time, in seconds since the epoch."""

    agent: AgentId
    due: float
    text: str
    trigger: str | None = None
    """The code of the trigger whose time it is."""


@dataclass(slots=True)
class FailureState:
    """A failure that is in no report yet. `seq` is the fact that says how; it was raised in this place of an agent's
    playbook."""

    seq: int
    error_type: str
    agent: str
    playbook: str
    step: str


@dataclass(slots=True)
class PublishedState:
    """An event on which other programs may still have to begin. `seq` is its fact, `at_s` its time in seconds since the
    epoch; `hops` events of programs led to it, itself included."""

    seq: int
    at_s: float
    agent: str
    type: str
    values: dict[str, Any]
    hops: int
