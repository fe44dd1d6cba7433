"""The state of what others are to hear of: runs of schedules that have not ended, failures that nobody caught."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RunState:
    """A run. `seq` is the fact with which it began, `since` its time in seconds since the epoch; `error` is the type
    and text of the latest failure in it that nobody caught, and `failed` the number of that fact."""

    seq: int
    since: float
    error: tuple[str, str] | None = None
    failed: int = 0


@dataclass(slots=True)
class FailureState:
    """A failure that is in no report yet. `seq` is the fact that says how; it was raised in this place of an agent's
    playbook."""

    seq: int
    error_type: str
    agent: str
    playbook: str
    step: str
