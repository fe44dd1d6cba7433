"""An agenda: items with due times, served by one timer."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from adapters.pacing.live_text import LiveText
from runtime.core.clock import Clock

_SAME_S = 1e-6


class Agenda:
    """Texts by `due_at`; a later `put` of a text replaces the earlier one. `on_time` is called when one is due."""

    def __init__(self, clock: Clock, tasks: TaskGroup, on_time: Callable[[], None]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._on_time = on_time
        self._entries: list[tuple[float, int, LiveText]] = []
        self._count = 0
        self._timer: anyio.CancelScope | None = None
        self._timer_at = math.inf

    def put(self, text: LiveText, at: float) -> None:
        """Set the time of the next look at the text; infinity means none until the next `put`."""
        if abs(text.due_at - at) < _SAME_S or text.due_at == at:
            return
        text.due_at = at
        if at < math.inf:
            self._count += 1
            heapq.heappush(self._entries, (at, self._count, text))

    def due(self, now: float) -> list[LiveText]:
        """The texts that are due, which leave the agenda."""
        texts = []
        while self._entries and self._entries[0][0] <= now:
            at, _, text = heapq.heappop(self._entries)
            if text.due_at == at:
                text.due_at = math.inf
                texts.append(text)
        return texts

    def set_timer(self) -> None:
        """Set the clock's timer for the earliest entry."""
        while self._entries and (self._entries[0][2].due_at != self._entries[0][0] or not self._entries[0][2].waiting):
            at, _, text = heapq.heappop(self._entries)
            if text.due_at == at:
                text.due_at = math.inf
        if not self._entries or self._entries[0][0] >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = anyio.CancelScope(), self._entries[0][0]
        self._tasks.start_soon(self._ring, self._timer, self._timer_at)

    async def _ring(self, scope: anyio.CancelScope, at: float) -> None:
        with scope:
            await self._clock.sleep_until(at)
        if self._timer is scope:
            self._timer, self._timer_at = None, math.inf
            self._on_time()
