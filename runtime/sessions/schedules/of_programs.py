"""Schedules that programs make: bounded, listed and removed as those of people are."""

from __future__ import annotations

from functools import partial

from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError
from runtime.core.ids import schedule_id
from runtime.core.times import read_times
from runtime.execution.calls.schedules import MakeSchedule
from runtime.sessions.schedules.letter import Wanted
from runtime.sessions.schedules.schedules import Schedules
from runtime.stores.inbox import InboxEvent
from runtime.stores.schedules import SCHEDULE
from runtime.stores.sessions import SessionRecord

MAX_TEXT_CHARS = 4000


def maker(record: SessionRecord, schedules: Schedules, clock: Clock) -> MakeSchedule:
    """Makes the schedules of a session's program in its conversation."""
    return partial(_make, record, schedules, clock)


async def _make(record: SessionRecord, schedules: Schedules, clock: Clock, key: str, when: str, text: str) -> str:
    zone, now = await schedules.zone(record.address), clock.now()
    found = read_times(when, now, zone)
    if found is None or found[2]:
        raise PlaybookError(f'Schedule does not understand {when!r}; write "every weekday at 9" or "in 20 minutes"')
    timing, said, _ = found
    first = timing.first(now, zone)
    if first <= now:
        raise PlaybookError(f"Schedule: {said} is over; it is {now.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})")
    if not text.strip() or len(text) > MAX_TEXT_CHARS:
        raise PlaybookError(f"Schedule takes a text of 1 to {MAX_TEXT_CHARS} characters, not of {len(text)}")
    program = schedule_id(record.program)
    asked = InboxEvent(key, record.address, program, record.program, "", now, kind=SCHEDULE, program=record.program)
    number = await schedules.add(asked, Wanted(said, timing, text), first)
    if number is None:
        raise PlaybookError(f"there are {schedules.limits.per_conversation} schedules here, and no more are kept")
    return f"schedule {number}"
