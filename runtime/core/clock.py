"""Time as an argument, so that tests move it by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

import anyio


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Wall-clock time, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep_until(self, monotonic_s: float, /) -> None:
        """Return at or after `monotonic_s` of `monotonic()`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await anyio.sleep(max(0.0, monotonic_s - time.monotonic()))
