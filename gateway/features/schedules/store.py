"""The ports for schedules that people and programs make in conversations, and for how the runs of all ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, Self

from gateway.features.schedules.facts import SCHEDULE
from runtime.core.address import Address
from runtime.core.ids import ScheduleId, person_id
from runtime.core.times import SetTimes
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import Lease

MAX_RUNS = 20
"""The runs of one schedule that are kept; the oldest are forgotten."""

KEPT_DAYS = 90
"""Runs of a schedule that has not run for so long are forgotten."""

RunStatus = Literal["waiting", "working", "answered", "failed", "stopped", "skipped"]
"""How far a run has come. "stopped": its session ended before the work did. The last four are ends."""

_DUE = re.compile(r"(?P<of>.+)\.(?P<due>\d{4}-\d\d-\d\dT\S+)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Wanted:
    """`text` is to be said at the times `timing`; `when` are the words in which they were given."""

    when: str
    timing: SetTimes
    text: str

    def __str__(self) -> str:
        return json.dumps({"when": self.when, "timing": self.timing.data(), "text": self.text}, ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or LookupError."""
        found = json.loads(text)
        return cls(found["when"], SetTimes.read(found["timing"]), found["text"])


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """Schedule `number` of a conversation, next due at `due_s`, in seconds since the epoch.

    `event` says who made it and where; its text is what `Wanted` writes.
    """

    number: int
    event: InboxEvent
    due_s: float


class ScheduleStore(Protocol):
    """Schedules belong to a conversation, whatever session lives there, and are kept with its shard. Raises
    StorageUnavailable, and LeaseLost where a lease is asked for, and nothing else.
    """

    async def add(self, lease: Lease, event: InboxEvent, due_s: float, /, *, bound: int) -> int | None:
        """Keep a schedule in the conversation of `event`; returns its number, which is never given again.

        An event that is kept already keeps its number. None where the conversation has `bound` schedules.
        """

    async def all(self, conversation: Address, /) -> Sequence[KeptSchedule]:
        """The schedules of a conversation, by number."""

    async def remove(self, lease: Lease, conversation: Address, number: int, /) -> bool:
        """Forget a schedule; False when there is none of that number."""

    async def zone(self, conversation: Address, /) -> str:
        """The name of the conversation's time zone; "" where nobody has set one."""

    async def set_zone(self, lease: Lease, conversation: Address, zone: str, dues: Mapping[int, float], /) -> None:
        """Set the time zone, and with it when schedules are due next, by their numbers."""

    async def first(self, shard: int, /) -> float | None:
        """The time of the shard's next schedule; None when it has none."""

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[KeptSchedule]:
        """The schedules due by then, the earliest first."""

    async def passed(self, kept: KeptSchedule, next_s: float | None, /) -> None:
        """The time of a schedule was dealt with: it is due next at `next_s`, or is over.

        Nothing changes where it was set to another time, or removed, meanwhile.
        """


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
        return self.status not in ("waiting", "working")


class RunStore(Protocol):
    """The latest runs of each schedule, by its key (`run_of`). Raises StorageUnavailable, and nothing else."""

    async def begin(self, schedule: str, run: ScheduleRun, /) -> ScheduleRun:
        """Keep a run unless it is known; the one that is kept."""

    async def put(self, schedule: str, run: ScheduleRun, /) -> None:
        """Keep a run in the place of what was known of it."""

    async def of(self, schedule: str, /) -> Sequence[ScheduleRun]:
        """The kept runs, the earliest first."""

    async def pause(self, schedule: str, /, *, paused: bool) -> None:
        """Have the schedule skip its times, or no longer."""

    async def is_paused(self, schedule: str, /) -> bool:
        """Whether it skips its times."""


@dataclass(frozen=True, slots=True)
class RunOf:
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
    return f"{event.address.key} {SCHEDULE}.{event.id}"
