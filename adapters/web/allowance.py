"""Rate limits of people: token buckets. The least recently used ones are forgotten."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from adapters.capabilities import Budget
from runtime.core.clock import Clock

MAX_KNOWN = 10_000
"""The number of buckets that are remembered."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


class Allowance:
    """One budget for each key."""

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str) -> bool:
        """Use one token of the key's bucket; False without using any if it is empty."""
        now_s = self._clock.monotonic()
        bucket = self._buckets.setdefault(key, _Bucket(self._budget.burst, now_s))
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_KNOWN:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._budget.burst, bucket.tokens + (now_s - bucket.at_s) * self._budget.rate_per_s)
        bucket.at_s = now_s
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
