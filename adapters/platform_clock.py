"""A platform's time: its calendar by the dates of its answers, since ours may be wrong, and pauses it asks for."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, Protocol, runtime_checkable

from runtime.core.clock import Clock

UNREACHABLE_PAUSE_S: Final = 1.0
"""The pause before the repetition of a call that could not even be sent."""
EXACT_S: Final = 2.0
"""A date in a header has whole seconds, and has been on its way: less says nothing about our calendar."""


class PlatformClock:
    """A clock whose calendar is the platform's since its last answer, and ours before the first.

    Between answers it goes on with what measures time, so that nobody who sets our calendar sets this one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard: tuple[datetime, float] | None = None

    def hear(self, date: str | None) -> None:
        """Take the `Date` header of an answer, if it is one."""
        try:
            theirs = parsedate_to_datetime(date or "").astimezone(UTC)
        except (ValueError, TypeError, OverflowError):
            return  # something before the platform answers without a date
        self._heard = theirs, self._clock.monotonic()

    def now(self) -> datetime:
        """The platform's time (UTC); ours where both are the same as far as is known."""
        ours = self._clock.now()
        if self._heard is None:
            return ours
        date, at_s = self._heard
        theirs = date + timedelta(seconds=self._clock.monotonic() - at_s)
        return theirs if abs((ours - theirs).total_seconds()) > EXACT_S else ours

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await self._clock.sleep_until(monotonic_s)


@runtime_checkable
class HasClock(Protocol):
    @property
    def clock(self) -> PlatformClock:
        """The platform's clock, by which its messages are dated."""


def clock_of(adapter: object, ours: Clock) -> Clock:
    return adapter.clock if isinstance(adapter, HasClock) else ours


def asked_pause_s(told: object, untold_s: float) -> float:
    """The pause in seconds; `untold_s` for what is no number of them, such as a date, nothing, or infinity."""
    try:
        pause_s = float(str(told))
    except ValueError:
        return untold_s
    return pause_s if math.isfinite(pause_s) and pause_s >= 0 else untold_s
