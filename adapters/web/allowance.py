"""Rate limits of people: token buckets. The least recently used ones are forgotten."""

from __future__ import annotations

from typing import Final

from adapters.capabilities import Budget
from adapters.recent import RecentValues
from runtime.core.clock import Clock

MAX_KNOWN: Final = 10_000
"""The number of buckets that are remembered."""


class KeyedBudgets:
    """One budget for each key."""

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._buckets = RecentValues[str, tuple[float, float]](MAX_KNOWN)

    def take(self, key: str) -> bool:
        """Use one token of the key's bucket; False without using any if it is empty."""
        now_s, most = self._clock.monotonic(), self._budget.burst
        tokens, at_s = self._buckets.get(key) or (most, now_s)
        tokens = min(most, tokens + (now_s - at_s) * self._budget.rate_per_s)
        may = tokens >= 1
        self._buckets.keep(key, (tokens - may, now_s))
        return may
