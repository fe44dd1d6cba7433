"""Time as an argument, so that tests move it by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from math import inf
from typing import Protocol

import anyio

LOOK_S = 30.0
"""The length of the pieces in which a calendar time is awaited, because the calendar may be changed meanwhile."""

EXACT_S = 0.001
"""The length by which a time that is awaited may be missed."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Wall-clock time, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep_until(self, monotonic_s: float, /) -> None:
        """Return at or after `monotonic_s` of `monotonic()`."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await anyio.sleep(max(0.0, monotonic_s - time.monotonic()))


def aware(text: str) -> datetime:
    """A time as `isoformat` writes it. Raises ValueError for one without a time zone, and for anything else."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at


async def until(clock: Clock, at_s: float, *, at_most_s: float = inf) -> None:
    """Return when the calendar says `at_s`, in seconds since the epoch (UTC), or later, and after `at_most_s` whatever
    it says: it may be set back meanwhile."""
    last_s = clock.monotonic() + at_most_s
    while (left_s := min(at_s - clock.now().timestamp(), last_s - clock.monotonic())) > EXACT_S:
        await clock.sleep_until(clock.monotonic() + min(left_s, LOOK_S))
