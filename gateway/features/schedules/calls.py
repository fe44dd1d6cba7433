"""The call by which a program has something said in its conversation at set times: bounded, listed and removed as what
people schedule is."""

from __future__ import annotations

from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.schedules import Schedules
from gateway.features.schedules.store import Wanted
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError
from runtime.core.ids import schedule_id
from runtime.core.times import read_times
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outside import OutsideEffect, OutsideEffects
from runtime.execution.frames.signatures import call
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.journal import Journal

MAX_TEXT_CHARS = 4000


class ScheduleCalls:
    def __init__(self, record: SessionRecord, journal: Journal, schedules: Schedules, clock: Clock) -> None:
        self._record = record
        self._outside = OutsideEffects(journal)
        self._schedules = schedules
        self._clock = clock

    @call("Schedule", example='name = await Schedule("every weekday at 9", "ask what everybody is at")')
    async def schedule(self, frame: Frame, call: FrameCall, when: str, text: str) -> None:
        """Sends that text into the conversation at set times, as `/schedule` does, and returns "schedule 1".

        The schedule outlasts the session. A time that Parley does not understand raises an error with examples.
        """

        async def happen(key: str) -> str:
            return await self._make(key, when, text)

        await self._outside.perform(frame, call, OutsideEffect("a schedule", happen, repeatable=True))

    async def _make(self, key: str, when: str, text: str) -> str:
        """The name of the schedule of a key, which is made once however often this is called."""
        record, schedules = self._record, self._schedules
        zone, now = await schedules.zone(record.address), self._clock.now()
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
