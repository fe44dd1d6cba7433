"""The clock of a talk: time stands still until somebody lets it pass."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import anyio
from anyio.lowlevel import checkpoint

from runtime.core.clock import LOOK_S

_SETTLE_ROUNDS = 30


class TalkClock:
    """Implements `runtime.core.clock.Clock`. Sleepers wake in the order of their times."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._passed_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, float, anyio.Event]] = []
        self._at_work = 0
        self._idle = anyio.Event()
        self._idle.set()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """No time of the talk passes meanwhile: a sandbox or a model is at work, as slowly as this machine lets it."""
        self._at_work += 1
        if self._at_work == 1:
            self._idle = anyio.Event()
        try:
            yield
        finally:
            self._at_work -= 1
            if self._at_work == 0:
                self._idle.set()

    async def runs(self) -> None:
        """Return when nothing stops it."""
        await self._idle.wait()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return self._passed_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s <= self._passed_s:
            await checkpoint()
            return
        woken = anyio.Event()
        sleeper = (monotonic_s, next(self._order), monotonic_s - self._passed_s, woken)
        heapq.heappush(self._sleepers, sleeper)
        try:
            await woken.wait()
        finally:
            if not woken.is_set():
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    def next_s(self, *, within_s: float) -> float | None:
        """When the first sleeper wakes, of those that wake within this time."""
        due_s = self._sleepers[0][0] if self._sleepers else None
        return due_s if due_s is not None and due_s <= self._passed_s + within_s else None

    def next_short_s(self, *, within_s: float) -> float | None:
        """The same, of those who sleep for a short time. Who waits for the calendar looks at it every LOOK_S."""
        short = [due_s for due_s, _, asked_s, _ in self._sleepers if asked_s <= within_s < LOOK_S]
        return min((due_s for due_s in short if due_s <= self._passed_s + within_s), default=None)

    async def pass_to(self, monotonic_s: float) -> None:
        """Let it be `monotonic_s`: who sleeps until then wakes, and does what it can do at once."""
        while self._sleepers and self._sleepers[0][0] <= monotonic_s:
            due_s, _, _, woken = heapq.heappop(self._sleepers)
            self._passed_s = max(self._passed_s, due_s)
            woken.set()
        self._passed_s = max(self._passed_s, monotonic_s)
        await settle()


async def settle() -> None:
    """Let everybody do what can be done at once."""
    for _ in range(_SETTLE_ROUNDS):
        await checkpoint()
