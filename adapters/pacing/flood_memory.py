"""The memory of a platform's buckets across restarts: learned rates, and the time until which calls may have emptied
them.
"""

from __future__ import annotations

import json
import logging
import math
from datetime import datetime, timedelta

import anyio

from adapters.pacing.bucket import Lesson
from adapters.pacing.constants import CALLS_PROMISED_S, COOL_DOWN_KEPT_S
from adapters.records import Records, readable
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable

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
        self._drained_at: float | None = None

    @property
    def drained_at(self) -> float | None:
        """The time when another process may have emptied the buckets last; None if there was none."""
        return self._drained_at

    async def open(self) -> None:
        """Read everything; before the first `recall`. Raises StorageUnavailable."""
        for key, value in (await self._records.all()).items():
            if key == LAST_CALLS and (at := readable(key, value, self._monotonic)) is not None:
                self._drained_at = min(self._clock.monotonic(), at)
            elif key != LAST_CALLS and (lesson := readable(key, value, self._lesson)) is not None:
                self._known[key] = lesson
            else:
                self._unsaved[key] = None

    def recall(self, key: str) -> Lesson | None:
        """The lesson about a bucket."""
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
