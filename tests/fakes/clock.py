"""Clocks for tests: one stands still until a test moves it, one passes over every pause."""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta

from runtime.core.clock import SystemClock

_SETTLE_ROUNDS = 50
_QUIET_ROUNDS = 5
"""When in so many rounds after each other nobody else could run, nobody will without a time or news from outside."""


class FakeClock:
    """Time passes only in `advance`, which wakes sleepers in the order of their times and lets everything settle."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    def set_calendar(self, seconds: float) -> None:
        """Somebody puts the calendar on, or back; what measures time does not notice."""
        self._start += timedelta(seconds=seconds)

    @property
    def sleeping(self) -> int:
        """How many tasks wait for a time."""
        return sum(not sleeper.done() for _, _, sleeper in self._sleepers)

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s <= self._elapsed_s:
            await asyncio.sleep(0)
            return
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (monotonic_s, next(self._order), sleeper))
        await sleeper

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        target_s = self._elapsed_s + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= target_s:
            due_s, _, sleeper = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, due_s)
            if not sleeper.done():
                sleeper.set_result(None)
                await self.settle()
        self._elapsed_s = target_s
        await self.settle()

    @staticmethod
    async def settle() -> None:
        """Let every task that can run do so."""
        ready, quiet = vars(asyncio.get_running_loop())["_ready"], 0
        for _ in range(_SETTLE_ROUNDS):
            await asyncio.sleep(0)
            quiet = 0 if ready else quiet + 1
            if quiet == _QUIET_ROUNDS:
                return


class ForeignClock:
    """Another machine's clock, whose time can be put forward; pauses are those of `clock`."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.ahead_s = 0.0

    def now(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self.ahead_s)

    def monotonic(self) -> float:
        return self._clock.monotonic() + self.ahead_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await self._clock.sleep_until(monotonic_s - self.ahead_s)


class HastyClock:
    """A clock that passes over every pause at once, and remembers it. Its calendar is the machine's."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []
        self._at_s = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return self._at_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        self.pauses_s.append(monotonic_s - self._at_s)
        self._at_s = monotonic_s
        await asyncio.sleep(0)


class WrongClock(SystemClock):
    """The machine's clock with its calendar set wrong."""

    def __init__(self, ahead_s: float) -> None:
        self._ahead = timedelta(seconds=ahead_s)

    def set_calendar(self, seconds: float) -> None:
        """Somebody puts the calendar on, or back; what measures time does not notice."""
        self._ahead += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead
