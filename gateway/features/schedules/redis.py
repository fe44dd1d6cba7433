"""Schedules and their runs on Redis: a hash for each conversation, for each shard a sorted set of their times, and a
hash of runs for each schedule, which vanishes some time after its last run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, Self

from msgspec import Struct

from adapters.records import what_can_be_read
from gateway.features.schedules.facts import SCHEDULE
from runtime.core.address import Address
from runtime.core.errors import LeaseLost
from runtime.core.ids import ScheduleId, person_id
from runtime.core.json_text import plain_data
from runtime.core.times import SetTimes
from runtime.storage.redis.client.connection import RedisConnection, RedisScript, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.inbox import EventForm
from runtime.stores.inbox import LOCKED, InboxEvent, shard_of
from runtime.stores.sessions import Lease

MAX_RUNS = 20
"""The runs of one schedule that are kept; the oldest are forgotten."""

KEPT_DAYS = 90
"""Runs of a schedule that has not run for so long are forgotten."""

RunStatus = Literal["waiting", "working", "answered", "failed", "stopped", "skipped"]
"""How far a run has come. "stopped": its session ended before the work did. The last four are ends."""

_DUE = re.compile(r"(?P<of>.+)\.(?P<due>\d{4}-\d\d-\d\dT\S+)\Z", re.DOTALL)


class Wanted(Struct, frozen=True):
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


class KeptSchedule(Struct, frozen=True):
    """Schedule `number` of a conversation, next due at `due_s`, in seconds since the epoch.

    `event` says who made it and where; its text is what `Wanted` writes.
    """

    number: int
    event: InboxEvent
    due_s: float

    @property
    def wanted(self) -> Wanted | None:
        """What it says; None where it is encrypted with a key that is missing, or unreadable."""
        try:
            return None if self.event.kind == LOCKED else Wanted.read(self.event.text)
        except (ValueError, LookupError, TypeError):
            return None


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


class ScheduleRun(Struct, frozen=True):
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


class RunOf(Struct, frozen=True):
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


_ADD = load_script("add", "gateway.features.schedules")
_REMOVE = load_script("remove", "gateway.features.schedules")
_ZONE = load_script("zone", "gateway.features.schedules")
_PASSED = load_script("passed", "gateway.features.schedules")

_PAUSED = "{parley:runs-paused}"
_KEPT_S = KEPT_DAYS * 86_400


class RedisSchedules:
    """Implements `ScheduleStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._form = EventForm(connection.sealing)

    async def add(self, lease: Lease, event: InboxEvent, due_s: float, /, *, bound: int) -> int | None:
        written, place = self._form.write(event), event.address.key
        outcome, number = await self._write(_ADD, lease, place, event.id, written, repr(due_s), bound, place)
        return int(number) if outcome == "ok" else None

    async def all(self, conversation: Address, /) -> Sequence[KeptSchedule]:
        place = conversation.key
        keys = ShardKeys(shard_of(place))

        kept = await self._connection.read("hgetall", keys.schedules(place))
        numbers = sorted(int(name) for name in kept if name.isdecimal())
        if not numbers:
            return []

        dues = await self._connection.read(
            "zmscore", keys.schedule_times, [_member(number, place) for number in numbers]
        )
        return [
            KeptSchedule(number, self._read(place, number, kept[str(number)]), float(due_s))
            for number, due_s in zip(numbers, dues, strict=True)
            if due_s is not None
        ]

    async def remove(self, lease: Lease, conversation: Address, number: int, /) -> bool:
        _, removed = await self._write(_REMOVE, lease, conversation.key, number, conversation.key)
        return bool(removed)

    async def zone(self, conversation: Address, /) -> str:
        place = conversation.key
        value = await self._connection.ask("HGET", ShardKeys(shard_of(place)).schedules(place), "zone")
        return "" if value is None else str(value)

    async def set_zone(self, lease: Lease, conversation: Address, zone: str, dues: Mapping[int, float], /) -> None:
        place = conversation.key
        times = [part for number, due_s in dues.items() for part in (number, repr(due_s))]
        await self._write(_ZONE, lease, place, zone, place, *times)

    async def first(self, shard: int, /) -> float | None:
        key = ShardKeys(shard).schedule_times

        found = await self._connection.read("zrange", key, 0, 0, withscores=True)
        return float(found[0][1]) if found else None

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[KeptSchedule]:
        keys = ShardKeys(shard)

        found = []
        for member, due_s in await self._connection.read(
            "zrangebyscore", keys.schedule_times, "-inf", until_s, start=0, num=limit, withscores=True
        ):
            number, _, place = str(member).partition(" ")
            written = await self._connection.ask("HGET", keys.schedules(place), number)
            if written is None:  # forgotten with the person who made it
                await self._connection.write("ZREM", keys.schedule_times, member)
            else:
                found.append(KeptSchedule(int(number), self._read(place, int(number), str(written)), float(due_s)))
        return found

    async def passed(self, kept: KeptSchedule, next_s: float | None, /) -> None:
        place = kept.event.address.key
        keys = ShardKeys(shard_of(place))
        following = "" if next_s is None else repr(next_s)
        await self._connection.run(
            _PASSED,
            [keys.schedules(place), keys.schedule_times],
            [kept.number, place, repr(kept.due_s), following],
        )

    async def _write(self, script: RedisScript, lease: Lease, place: str, *arguments: str | int) -> tuple[str, Any]:
        keys = ShardKeys(lease.shard)
        outcome, found = await self._connection.run(
            script, [keys.lease, keys.schedules(place), keys.schedule_times], [lease.token, *arguments]
        )
        if outcome == "lease":
            raise LeaseLost(f"Shard {lease.shard} was taken over: token {found}, ours is {lease.token}.")
        return str(outcome), found

    def _read(self, place: str, number: int, written: str) -> InboxEvent:
        return self._form.read(f"schedule {number} of {place}", {"e": written})


def _member(number: int, conversation: str) -> str:
    return f"{number} {conversation}"


class RedisRuns(Struct, frozen=True):
    """Implements `RunStore`."""

    _connection: RedisConnection

    async def begin(self, schedule: str, run: ScheduleRun, /) -> ScheduleRun:
        key = _key(schedule)
        await self._connection.write("HSETNX", key, run.id, _written(run))
        await self._connection.write("EXPIRE", key, _KEPT_S)
        kept = {one.id: one for one in await self.of(schedule)}
        if surplus := list(kept)[: max(0, len(kept) - MAX_RUNS)]:
            await self._connection.write("HDEL", key, *surplus)
        return kept.get(run.id, run)

    async def put(self, schedule: str, run: ScheduleRun, /) -> None:
        key = _key(schedule)
        await self._connection.write("HSET", key, run.id, _written(run))
        await self._connection.write("EXPIRE", key, _KEPT_S)

    async def of(self, schedule: str, /) -> Sequence[ScheduleRun]:
        key = _key(schedule)

        runs = what_can_be_read(
            await self._connection.read("hgetall", key), lambda text: ScheduleRun(**json.loads(text))
        )
        return sorted(runs.values(), key=lambda run: (run.due_s, run.at_s))

    async def pause(self, schedule: str, /, *, paused: bool) -> None:
        if paused:
            await self._connection.write("HSET", _PAUSED, schedule, "1")
        else:
            await self._connection.write("HDEL", _PAUSED, schedule)

    async def is_paused(self, schedule: str, /) -> bool:
        return await self._connection.ask("HGET", _PAUSED, schedule) is not None


def _key(schedule: str) -> str:
    return f"{{parley:runs:{schedule}}}"


def _written(run: ScheduleRun) -> str:
    return json.dumps(plain_data(run), ensure_ascii=False)
