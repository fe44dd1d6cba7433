"""The state of runs of schedules that a session has taken and that have not ended."""

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
