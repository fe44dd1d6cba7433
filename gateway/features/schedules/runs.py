"""The runs of schedules: whether one begins, and how it ended.

a time has come ──> admit ──> inbox ──> a session takes it ──> nothing of it goes on any more ──> ended
                      │ missed, paused, the one before goes on: skipped                             │ three failures in
                      └─────────────────────────────────────────────────────────────────────────────┘ a row: owners hear
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile

from gateway.features.schedules.settings import RunRules
from gateway.features.schedules.store import RunOf, RunStatus, RunStore, ScheduleRun, kept_key, run_of
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.stores.inbox import InboxEvent

MISSED_AFTER_S = 60.0
"""A time for which nothing ran for longer than this was missed."""

AT_WORK_AT_MOST_S = 86_400.0
"""A run without an end counts as at work for a day."""

FAILURES = 3
"""The owners hear of a schedule that failed this often in a row."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A schedule, by its key, whose latest runs all failed; `run` is the last of them."""

    schedule: str
    address: Address
    run: ScheduleRun


TellFailing = Callable[[Failing], Awaitable[None]]
"""Tells the owners, once for each run however often it is called."""


async def nobody(_failing: Failing, /) -> None:
    """Nobody is told."""


class Runs:
    """The runs of all schedules, as this node sees them. Everything may be done again after a crash."""

    def __init__(self, store: RunStore, clock: Clock, tell: TellFailing = nobody) -> None:
        self._store = store
        self._clock = clock
        self._tell = tell

    async def admit(self, event: InboxEvent, rules: RunRules) -> bool:
        """Whether the event of a schedule that is due is added to the inbox now. Decided once for each event."""
        of = run_of(event.id, event.address)
        if of is None:
            return True
        why = await self._why_not(event, of, rules)
        status: RunStatus = "skipped" if why else "waiting"
        now_s = self._clock.now().timestamp()
        run = ScheduleRun(event.id, of.due.timestamp(), status, now_s, now_s if why else None, why)
        return (await self._store.begin(of.schedule, run)).status != "skipped"

    async def _why_not(self, event: InboxEvent, of: RunOf, rules: RunRules) -> str:
        now_s = self._clock.now().timestamp()
        if await self._store.is_paused(of.schedule):
            return "paused"
        if rules.missed == "skip" and now_s - of.due.timestamp() > MISSED_AFTER_S:
            return "missed"
        if rules.overlap == "skip":
            others = [run for run in await self._store.of(of.schedule) if run.id != event.id and not run.over]
            if any(now_s - run.at_s < AT_WORK_AT_MOST_S for run in others):
                return "overlap"
        return ""

    async def pause(self, event: InboxEvent, *, paused: bool) -> None:
        """Have the schedule that is kept as this event skip its times, or no longer."""
        await self._store.pause(kept_key(event), paused=paused)

    async def is_paused(self, event: InboxEvent) -> bool:
        """Whether the schedule that is kept as this event skips its times."""
        return await self._store.is_paused(kept_key(event))

    async def begun(self, run: str, address: Address, session: SessionId) -> None:
        """A session has taken the event of a run."""
        known = await self._known(run, address)
        if known is not None and not known[1].over:
            await self._store.put(known[0].schedule, replace(known[1], status="working", session=session))

    async def ended(self, run: str, address: Address, status: RunStatus, *, why: str = "", seq: int = 0) -> None:
        """A run is over. Its first end counts."""
        known = await self._known(run, address)
        if known is None:
            return
        of, kept = known
        if not kept.over:
            now_s = self._clock.now().timestamp()
            kept = replace(kept, status=status, ended_s=now_s, why=why, seq=seq)
            await self._store.put(of.schedule, kept)
        if kept.status == "failed" and _failures(await self._store.of(of.schedule), run) == FAILURES:
            await self._tell(Failing(of.schedule, address, kept))

    async def _known(self, run: str, address: Address) -> tuple[RunOf, ScheduleRun] | None:
        of = run_of(run, address)
        kept = [] if of is None else [one for one in await self._store.of(of.schedule) if one.id == run]
        return None if of is None or not kept else (of, kept[0])


def _failures(runs: Iterable[ScheduleRun], last: str) -> int:
    """How many runs in a row failed up to this one. Those that were skipped do not count."""
    before = [run for run in runs if run.over and run.status != "skipped"]
    until = next((number for number, run in enumerate(before, 1) if run.id == last), 0)
    return sum(1 for _ in takewhile(lambda run: run.status == "failed", reversed(before[:until])))
