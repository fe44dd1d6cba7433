"""All buckets of one bot, by key, and what is kept of them: learned rates, and until when calls may empty them."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import anyio

from adapters.capabilities import Budget
from adapters.pacing.bucket import BucketMirror, Lesson
from adapters.pacing.constants import CALLS_PROMISED_S, COOL_DOWN_KEPT_S
from adapters.pacing.live_text import Lane, LiveText
from adapters.records import Records, readable
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, OutcomeUncertain, RateLimited, StorageUnavailable

TOTAL = "total"
_KEYS_SWEPT_FROM = 64

LAST_CALLS = "last calls"
"""The name of the record with the time until which calls may have been made; all other names are buckets' keys."""
_log = logging.getLogger(__name__)


class FloodMemory:
    """Lessons by bucket key in one durable table; what is as configured again is forgotten.

    A value is JSON: `rate_per_s` of the whole bucket, `clean_since` and `blocked_until` as wall-clock times, `calls` of
    its window in seconds since the epoch.

    That of `last calls` is the time until when this process may make calls before it writes again.
    """

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: dict[str, Lesson] = {}
        self._unsaved: dict[str, str | None] = {}
        self._news = anyio.Event()
        self._promised_until = -math.inf
        self.drained_at: float | None = None
        """The time when another process may have emptied the buckets last; None if there was none."""

    async def open(self) -> None:
        """Read everything; before the first `recall`. Raises StorageUnavailable."""
        for key, value in (await self._records.all()).items():
            if key == LAST_CALLS and (at := readable(key, value, self._monotonic)) is not None:
                self.drained_at = min(self._clock.monotonic(), at)
            elif key != LAST_CALLS and (lesson := readable(key, value, self._lesson)) is not None:
                self._known[key] = lesson
            else:
                self._unsaved[key] = None

    def recall(self, key: str) -> Lesson | None:
        return self._known.get(key)

    def called(self) -> None:
        """A call leaves. Never blocks."""
        now = self._clock.monotonic()
        if now >= self._promised_until:
            self._promised_until = now + CALLS_PROMISED_S
            self._unsaved[LAST_CALLS] = self._wall(self._promised_until).isoformat()
            self._news.set()

    def note(self, key: str, lesson: Lesson | None) -> None:
        """Remember a bucket's newest lesson, or that it has none. Never blocks."""
        known = self._known.get(key)
        if lesson == known:
            return
        if lesson is None:
            self._known.pop(key)
            self._unsaved[key] = None
        else:
            self._known[key] = lesson
            self._unsaved[key] = self._value(lesson)
        self._news.set()

    async def run(self) -> None:
        """Store noted lessons until cancelled. Failed writes are repeated with the next note."""
        while True:
            unsaved, self._unsaved = self._unsaved, {}
            try:
                while unsaved:
                    key, value = next(iter(unsaved.items()))
                    await (self._records.remove(key) if value is None else self._records.put(key, value))
                    del unsaved[key]
            except StorageUnavailable as error:
                self._unsaved = unsaved | self._unsaved
                _log.warning("What was learned of a rate is not saved yet", extra={"error": str(error)})
            await self._news.wait()
            self._news = anyio.Event()

    def _value(self, lesson: Lesson) -> str:
        kept: dict[str, float | str | list[float]] = {
            "rate_per_s": lesson.rate_per_s,
            "clean_since": self._wall(lesson.clean_since).isoformat(),
        }
        if lesson.blocked_until - self._clock.monotonic() > COOL_DOWN_KEPT_S:
            kept["blocked_until"] = self._wall(lesson.blocked_until).isoformat()
        if lesson.calls:
            kept["calls"] = [round(self._wall(at).timestamp(), 3) for at in lesson.calls]
        return json.dumps(kept)

    def _lesson(self, text: str) -> Lesson:
        kept = json.loads(text)
        rate_per_s, blocked_until = float(kept["rate_per_s"]), kept.get("blocked_until")
        since_s = self._clock.monotonic() - self._clock.now().timestamp()
        if not 0 < rate_per_s < math.inf:
            raise ValueError(f"a rate of {rate_per_s} a second")
        return Lesson(
            rate_per_s,
            self._monotonic(str(kept["clean_since"])),
            -math.inf if blocked_until is None else self._monotonic(str(blocked_until)),
            tuple(sorted(min(self._clock.monotonic(), since_s + float(at)) for at in kept.get("calls", ()))),
        )

    def _wall(self, monotonic_s: float) -> datetime:
        return self._clock.now() + timedelta(seconds=monotonic_s - self._clock.monotonic())

    def _monotonic(self, wall: str) -> float:
        return self._clock.monotonic() + (datetime.fromisoformat(wall) - self._clock.now()).total_seconds()


class Lanes:
    """Creates mirrors as needed and drops those that equal new ones. `closed`: no call may leave."""

    def __init__(self, total: Budget, clock: Clock, memory: FloodMemory | None) -> None:
        self._clock = clock
        self._memory = memory
        self._share = 1.0
        self._lanes: dict[str, Lane] = {}
        self._on_their_way = 0
        self._back = anyio.Event()
        self.closed = False
        self.total = self._made(TOTAL, total, shared=True)

    def of(self, draws: Iterable[tuple[str, Budget]]) -> tuple[Lane, ...]:
        return tuple(dict.fromkeys(self.lane(key, budget) for key, budget in draws))

    def lane(self, key: str, budget: Budget) -> Lane:
        """The lane of this key. It keeps the size of the first request, and once shared it stays shared."""
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) >= _KEYS_SWEPT_FROM:
                self._lanes = {key: one for key, one in self._lanes.items() if one.texts or not one.mirror.idle}
            lane = self._lanes[key] = self._made(key, budget, shared=budget.shared)
        elif budget.shared and not lane.shared:
            lane.shared = True
            lane.mirror.grant(self._share)
        return lane

    def texts(self) -> list[LiveText]:
        return list(dict.fromkeys(text for lane in (self.total, *self._lanes.values()) for text in lane.texts))

    def grant(self, share: float) -> list[Lane]:
        """Set our share of the buckets of several nodes; returns their lanes."""
        self._share = share
        changed = [lane for lane in (self.total, *self._lanes.values()) if lane.shared]
        for lane in changed:
            lane.mirror.grant(share)
        return changed

    def take(self, lanes: Sequence[Lane]) -> None:
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
