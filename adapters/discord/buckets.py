"""Discord's rate limits as its headers tell them: a call that is sure to be refused is not made.

Headers: Discord's documentation, Rate Limits. A route has a bucket, whose name comes with the first answer; calls on
different channels, servers or webhooks never share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.core.clock import Clock

MAX_KEPT: Final = 1000
"""Waits that are remembered before those that are over are forgotten."""


class Buckets:
    """Which calls must wait, and how long. `route` and `major` are a call's pattern and what it is about."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._names: dict[str, str] = {}
        self._closed_until_s: dict[tuple[str, str], float] = {}
        self._all_closed_until_s = 0.0

    def wait_s(self, route: str, major: str) -> float:
        """Seconds until the call may be made; 0 when it may be made now."""
        closed = max(self._closed_until_s.get(self._key(route, major), 0.0), self._all_closed_until_s)
        return max(0.0, closed - self._clock.monotonic())

    def learn(self, route: str, major: str, headers: Mapping[str, str]) -> None:
        """Take note of what the headers of an answer say."""
        name = headers.get("X-RateLimit-Bucket")
        if name is not None:
            self._names[route] = name
        if headers.get("X-RateLimit-Remaining") == "0":
            self.close(route, major, float(headers.get("X-RateLimit-Reset-After", 0.0)))

    def close(self, route: str, major: str, seconds: float) -> None:
        """Such calls must wait for so long."""
        if len(self._closed_until_s) >= MAX_KEPT:
            now_s = self._clock.monotonic()
            self._closed_until_s = {key: at_s for key, at_s in self._closed_until_s.items() if at_s > now_s}
        self._closed_until_s[self._key(route, major)] = self._clock.monotonic() + seconds

    def close_all(self, seconds: float) -> None:
        """Every call must wait for so long."""
        self._all_closed_until_s = self._clock.monotonic() + seconds

    def _key(self, route: str, major: str) -> tuple[str, str]:
        return self._names.get(route, route), major
