"""All buckets of one bot, by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio

from adapters.capabilities import Budget
from adapters.pacing.bucket import BucketMirror
from adapters.pacing.flood_memory import FloodMemory
from adapters.pacing.live_text import Lane, LiveText
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, OutcomeUncertain, RateLimited

TOTAL = "total"
"""The key of the bot's own bucket."""
_KEYS_SWEPT_FROM = 64


class Lanes:
    """Creates mirrors as needed and drops those that equal new ones.

    `drained_at`: the time until which calls of an earlier process may have emptied every bucket. `closed`: no call may
    leave.
    """

    def __init__(
        self, total: Budget, clock: Clock, memory: FloodMemory | None, *, drained_at: float | None = None
    ) -> None:
        self._clock = clock
        self._memory = memory
        self._share = 1.0
        self._lanes: dict[str, Lane] = {}
        self._on_their_way = 0
        self._back = anyio.Event()
        self.closed = False
        self.total = self._made(TOTAL, total, shared=True)

    def of(self, draws: Iterable[tuple[str, Budget]]) -> tuple[Lane, ...]:
        """The lanes of these buckets, each once."""
        return tuple(dict.fromkeys(self.lane(key, budget) for key, budget in draws))

    def lane(self, key: str, budget: Budget) -> Lane:
        """The lane of this key. It keeps the size of the first request, and once shared it stays shared."""
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) >= _KEYS_SWEPT_FROM:
                self._sweep()
            lane = self._lanes[key] = self._made(key, budget, shared=budget.shared)
        elif budget.shared and not lane.shared:
            lane.shared = True
            lane.mirror.grant(self._share)
        return lane

    def texts(self) -> list[LiveText]:
        """All texts that draw from any lane."""
        return list(dict.fromkeys(text for lane in (self.total, *self._lanes.values()) for text in lane.texts))

    def grant(self, share: float) -> list[Lane]:
        """Set our share of the buckets of several nodes; returns their lanes."""
        self._share = share
        changed = [lane for lane in (self.total, *self._lanes.values()) if lane.shared]
        for lane in changed:
            lane.mirror.grant(share)
        return changed

    def take(self, lanes: Sequence[Lane]) -> None:
        """A call leaves that takes a token from each lane."""
        if self._memory is not None:
            self._memory.called()
        self._on_their_way += 1
        for lane in lanes:
            lane.mirror.take()
        self._note(lanes)

    def answered(self, lanes: Sequence[Lane], error: BaseException | None) -> None:
        """The call was answered. A flood is due to one of its lanes, but never proof against the bot's own."""
        self._on_their_way -= 1
        self._back.set()
        if isinstance(error, RateLimited):
            self._flooded(lanes, error.retry_after_s)
        else:
            clear = error is None or (isinstance(error, AdapterError) and not isinstance(error, OutcomeUncertain))
            for lane in lanes:
                if clear:
                    lane.mirror.landed()
                else:
                    lane.mirror.doubted()
        self._note(lanes)

    async def drain(self) -> None:
        """Allow no more calls, and return when every call on its way was answered."""
        self.closed = True
        while self._on_their_way:
            self._back = anyio.Event()
            await self._back.wait()

    def _note(self, lanes: Sequence[Lane]) -> None:
        if self._memory is not None:
            for lane in lanes:
                self._memory.note(lane.key, lane.mirror.lesson)

    def _flooded(self, lanes: Sequence[Lane], retry_after_s: float) -> None:
        """All lanes of the call must pause, but only the emptiest is assumed to be stricter than configured."""
        asked = [lane for lane in lanes if lane is not self.total] or list(lanes)
        to_blame = min(asked, key=lambda lane: lane.mirror.level() / max(1.0, lane.mirror.burst))
        for lane in lanes:
            if lane in asked:
                lane.mirror.flooded(retry_after_s, to_blame=lane is to_blame)
            else:
                lane.mirror.landed()

    def _made(self, key: str, budget: Budget, *, shared: bool) -> Lane:
        mirror = BucketMirror(
            budget,
            self._clock,
            share=self._share if shared else 1.0,
            drained_at=None if self._memory is None else self._memory.drained_at,
            lesson=None if self._memory is None else self._memory.recall(key),
        )
        return Lane(key, mirror, shared=shared)

    def _sweep(self) -> None:
        self._lanes = {key: lane for key, lane in self._lanes.items() if lane.texts or not lane.mirror.idle}
