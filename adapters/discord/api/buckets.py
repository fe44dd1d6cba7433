"""Discord's rate limits as its headers tell them: a call that is sure to be refused is not made.

Headers: Discord's documentation, Rate Limits. Each method of a route is counted by itself, for each channel, server or
webhook. The bucket's name in the headers is of no use: posting and editing share one and are counted apart
(discord-api-docs issue 8073).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from adapters.capabilities import Budget
from adapters.discord.limits import within
from runtime.core.clock import Clock

MAX_KEPT: Final = 1000
"""The number of remembered waits; beyond it, expired ones are dropped."""


class Buckets:
    """The calls that must wait, and for how long. `route` and `major` are a call's pattern and its subject."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed_until_s: dict[tuple[str, str], float] = {}
        self._all_closed_until_s = 0.0
        self._sizes: dict[str, tuple[int, float]] = {}

    def wait_s(self, route: str, major: str) -> float:
        """The seconds until the call may be made."""
        closed = max(self._closed_until_s.get((route, major), 0.0), self._all_closed_until_s)
        return max(0.0, closed - self._clock.monotonic())

    def size(self, route: str) -> Budget | None:
        """A bucket within the route's limit; None before Discord has told the limit."""
        known = self._sizes.get(route)
        return None if known is None else within(*known)

    def learn(self, route: str, major: str, headers: Mapping[str, str]) -> None:
        """Learn from the headers of an answer."""
        try:
            limit, left = int(headers["X-RateLimit-Limit"]), int(headers["X-RateLimit-Remaining"])
            resets_in_s = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        if left == limit - 1:  # the first call of a window: it has its whole length before it
            self._sizes[route] = (limit, max(1.0, math.ceil(resets_in_s)))
        if left == 0:
            self.close(route, major, resets_in_s)

    def close(self, route: str, major: str, seconds: float) -> None:
        """Make calls of this kind wait."""
        if len(self._closed_until_s) >= MAX_KEPT:
            now_s = self._clock.monotonic()
            self._closed_until_s = {key: at_s for key, at_s in self._closed_until_s.items() if at_s > now_s}
        self._closed_until_s[route, major] = self._clock.monotonic() + seconds

    def close_all(self, seconds: float) -> None:
        """Make every call wait."""
        self._all_closed_until_s = self._clock.monotonic() + seconds
