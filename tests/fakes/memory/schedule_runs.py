"""The runs of schedules in memory."""

from collections.abc import Sequence

from gateway.features.schedules.redis import MAX_RUNS, ScheduleRun


class MemoryRuns:
    """Implements `gateway.features.schedules.redis.RunStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, ScheduleRun]] = {}
        self._paused: set[str] = set()

    async def begin(self, schedule: str, run: ScheduleRun, /) -> ScheduleRun:
        here = self._kept.setdefault(schedule, {})
        known = here.setdefault(run.id, run)
        for oldest in list(await self.of(schedule))[: max(0, len(here) - MAX_RUNS)]:
            del here[oldest.id]
        return known

    async def put(self, schedule: str, run: ScheduleRun, /) -> None:
        self._kept.setdefault(schedule, {})[run.id] = run

    async def of(self, schedule: str, /) -> Sequence[ScheduleRun]:
        return sorted(self._kept.get(schedule, {}).values(), key=lambda run: (run.due_s, run.at_s))

    async def pause(self, schedule: str, /, *, paused: bool) -> None:
        (self._paused.add if paused else self._paused.discard)(schedule)

    async def is_paused(self, schedule: str, /) -> bool:
        return schedule in self._paused
