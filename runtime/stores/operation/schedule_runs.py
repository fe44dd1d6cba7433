"""The port for how the runs of schedules ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from runtime.core.address import Address
from runtime.core.ids import ScheduleId, person_id
from runtime.stores.inbox import InboxEvent
from runtime.stores.schedules import SCHEDULE

MAX_RUNS = 20
"""The runs of one schedule that are kept; the oldest are forgotten."""

KEPT_DAYS = 90
"""Runs of a schedule that has not run for so long are forgotten."""

RunStatus = Literal["waiting", "working", "answered", "failed", "stopped", "skipped"]
"""How far a run has come. "stopped": its session ended before the work did. The last four are ends."""

_DUE = re.compile(r"(?P<of>.+)\.(?P<due>\d{4}-\d\d-\d\dT\S+)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """One run, by the id of its event. Times are seconds since the epoch.

    `why` is the type of the failure, or of a skipped run "missed", "overlap" or "paused". `session` took the event, and
    `seq` is the fact that says how it ended; its words are on the tape alone.
    """

    id: str
    due_s: float
    status: RunStatus
    at_s: float
    """When the event was added, or the run skipped."""
    ended_s: float | None = None
    why: str = ""
    session: str = ""
    seq: int = 0

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status not in ("waiting", "working")


class RunStore(Protocol):
    """The latest runs of each schedule, by its key (`run_of`). Raises StorageUnavailable, and nothing else."""

    async def begin(self, schedule: str, run: ScheduleRun, /) -> ScheduleRun:
        """Keep a run unless it is known; the one that is kept."""
        ...

    async def put(self, schedule: str, run: ScheduleRun, /) -> None:
        """Keep a run in the place of what was known of it."""
        ...

    async def of(self, schedule: str, /) -> Sequence[ScheduleRun]:
        """The kept runs, the earliest first."""
        ...

    async def pause(self, schedule: str, /, *, paused: bool) -> None:
        """Have the schedule skip its times, or no longer."""
        ...

    async def is_paused(self, schedule: str, /) -> bool:
        """Whether it skips its times."""
        ...


@dataclass(frozen=True, slots=True)
class RunOf:
    """The run that an event belongs to: the key of the schedule, and the time that was due."""

    schedule: str
    due: datetime


def run_of(event_id: str, address: Address) -> RunOf | None:
    """The run that an event in a conversation belongs to; None for one of no schedule."""
    found = _DUE.match(event_id)
    if found is None:
        return None
    try:
        due = datetime.fromisoformat(found["due"])
    except ValueError:
        return None
    if isinstance(person_id(found["of"]), ScheduleId):
        return RunOf(found["of"], due)
    return RunOf(f"{address.key} {found['of']}", due) if found["of"].startswith(f"{SCHEDULE}.") else None


def kept_key(event: InboxEvent) -> str:
    """The key of a schedule that is kept as this event."""
    return f"{event.address.key} {SCHEDULE}.{event.id}"
