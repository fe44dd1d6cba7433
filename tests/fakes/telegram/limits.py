"""Flood control, as a model: Telegram publishes rates, not its algorithm. The penalties grow, as is widely reported."""

import math
from collections import deque
from dataclasses import dataclass, field

from msgspec import Struct


class FloodLimit(Struct, frozen=True):
    """A token bucket, and how long the first overrun of it is punished; every further one twice as long.

    `per_minute` is how many may pass in any 60 s besides.
    """

    rate_per_s: float
    burst: float
    penalty_s: float
    per_minute: float = math.inf


class FloodLimits(Struct, frozen=True):
    """What one bot may do: per private chat and per group sends and edits together, and all calls to chats."""

    private: FloodLimit = FloodLimit(1.0, 3, 3)
    group: FloodLimit = FloodLimit(20 / 60, 5, 12, per_minute=20)
    total: FloodLimit = FloodLimit(30.0, 30, 5)


FORGIVEN_AFTER_S = 60.0
"""After so long without an overrun the next penalty is the first again."""


@dataclass(slots=True)
class FloodBucket:
    """One limit in force. Times are the clock's monotonic seconds."""

    limit: FloodLimit
    _tokens: float = field(init=False)
    _at_s: float | None = field(init=False, default=None)
    _closed_until_s: float = field(init=False, default=-math.inf)
    _overruns: int = field(init=False, default=0)
    _passed: deque[float] = field(init=False, default_factory=deque)

    def __post_init__(self) -> None:
        self._tokens = self.limit.burst

    def take(self, now_s: float) -> int | None:
        """None when the call may pass, else the whole seconds to wait; a call made during a penalty is refused."""
        if now_s < self._closed_until_s:
            return math.ceil(self._closed_until_s - now_s)
        elapsed_s = 0.0 if self._at_s is None else now_s - self._at_s
        self._tokens = min(self.limit.burst, self._tokens + elapsed_s * self.limit.rate_per_s)
        self._at_s = now_s
        while self._passed and self._passed[0] <= now_s - 60:
            self._passed.popleft()
        if self._tokens >= 1 - 1e-9 and len(self._passed) < self.limit.per_minute:
            self._tokens -= 1
            self._passed.append(now_s)
            return None
        return self._punish(now_s)

    def _punish(self, now_s: float) -> int:
        if now_s - self._closed_until_s > FORGIVEN_AFTER_S:
            self._overruns = 0
        penalty_s = math.ldexp(self.limit.penalty_s, self._overruns)
        self._overruns += 1
        self._closed_until_s = now_s + penalty_s
        return math.ceil(penalty_s)
