"""Our mirror of a platform's token bucket.

The platform's bucket refills at `rate_per_s` up to `burst`, and every call that lands costs a token. The mirror takes a
token when a call leaves and may fill only up to the burst less the calls in flight. Then its level never exceeds the
platform's level less the calls that have not landed: refill keeps that (the platform's is capped at the burst, ours at
the burst less those calls or lower), a call that leaves lowers both sides by one, one that lands changes neither, and
its answer only raises the cap. So a call that finds a whole token here finds one there, whatever the latency and the
order of arrival. It holds while the configured limits are true, one mirror serves all calls of a key, and a call
without an answer stays in flight until it cannot land any more.

Where the platform may count calls in a window instead, a call leaves only if it and all that may have landed within a
window's length before it are not too many: a call lands between its leaving and its answer, so it counts until the
window's length has passed since its answer.

Several mirrors on several nodes may serve one key if each has a share of rate and burst, and the shares never sum to
more than 1: then the levels sum to no more than the one mirror's would.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

from msgspec import Struct

from adapters.capabilities import Budget
from adapters.pacing.constants import (
    CLEAN_S,
    CLEAN_STEP,
    CUT_EVERY_S,
    CUT_LEAST,
    CUT_MOST,
    DOUBT_HOLDS_S,
    FLOOD_MARGIN_S,
    PROOF_CALLS,
    PROOF_TOKENS,
    PROOF_TRUST,
)
from adapters.recent import RecentValues
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError

_EPSILON = 1e-9


class Lesson(Struct, frozen=True):
    """Knowledge about a bucket that floods have given. Times are `Clock.monotonic`, also of a time before this process.

    `rate_per_s` is that of the whole bucket, as it was at `clean_since`; no call may be made before `blocked_until`.
    `calls` are those of the bucket's window.
    """

    rate_per_s: float
    clean_since: float
    blocked_until: float
    calls: tuple[float, ...] = ()


class BucketMirror:
    """One bucket. Never sleeps: a flood is a state, and `next_token_at` says when to ask again.

    `drained_at` says that the bucket may have been empty then; otherwise it is full. `lesson` is what an earlier mirror
    of it learned. Raises ConfigError for a budget that could never pay for a call.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Clock,
        *,
        share: float = 1.0,
        drained_at: float | None = None,
        lesson: Lesson | None = None,
    ) -> None:
        if budget.burst < 1 or budget.rate_per_s <= 0:
            raise ConfigError(
                f"a budget needs burst >= 1 and a rate above 0, not {budget}: correct the platform's limits"
            )
        self._configured = budget
        self._clock = clock
        self._share = share
        self._truth = 1.0
        self._as_of = self._clean_since = clock.monotonic()
        self._in_flight = 0
        self._doubtful: deque[float] = deque()
        self._accepted: deque[float] = deque(maxlen=PROOF_CALLS)
        self._counted: deque[float] = deque()
        self._blocked_until = -math.inf
        self._cut_at = -math.inf
        if lesson is not None:
            self._truth = min(1.0, lesson.rate_per_s / budget.rate_per_s)
            self._clean_since, self._blocked_until = lesson.clean_since, lesson.blocked_until
            self._counted.extend(lesson.calls)
        self._level = self.burst
        if drained_at is not None:
            self._level = min(self.burst, max(0.0, self._as_of - drained_at) * self.rate_per_s)

    @property
    def burst(self) -> float:
        """Our share of it, and never less than one call: more nodes than the burst has tokens may overrun it."""
        return max(1.0, self._configured.burst * self._share) if self._share else 0.0

    @property
    def rate_per_s(self) -> float:
        """Our share of the configured rate, or less while the platform turned out to be stricter."""
        self._recover()
        return self._configured.rate_per_s * self._share * self._truth

    @property
    def in_flight(self) -> int:
        self._refresh()
        return self._in_flight

    @property
    def cap(self) -> float:
        """The most tokens there may be now: the burst less the calls in flight."""
        return self.burst - self.in_flight

    @property
    def idle(self) -> bool:
        """Whether a new mirror of the same budget would have the same state."""
        return self.level() >= self.burst - _EPSILON and not self._in_flight and self.lesson is None

    @property
    def blocked(self) -> bool:
        return self._clock.monotonic() < self._blocked_until

    @property
    def lesson(self) -> Lesson | None:
        """The lessons of floods that still hold, and the calls that the window counts."""
        self._recover()
        self._refresh()
        calls = (*self._counted, *[self._as_of] * self._in_flight) if self._configured.window is not None else ()
        if self._truth == 1.0 and not self.blocked and not calls:
            return None
        return Lesson(self._configured.rate_per_s * self._truth, self._clean_since, self._blocked_until, calls)

    @property
    def left(self) -> float:
        """The number of calls that the window allows now; infinite without a window."""
        self._refresh()
        window = self._configured.window
        if window is None:
            return math.inf
        return max(1.0, math.floor(window.calls * self._share)) - self._in_flight - len(self._counted)

    def frees_at(self) -> list[float]:
        """The times when the window allows one call more, one for each call that it counts."""
        window = self._configured.window
        return [] if window is None else [at + window.seconds for at in self._counted]

    def level(self) -> float:
        """The tokens that are there now, regardless of any pause."""
        self._refresh()
        return self._level

    def can_take(self) -> bool:
        return not self.blocked and self.level() >= 1.0 - _EPSILON and self.left >= 1.0

    def grant(self, share: float) -> None:
        """Set our share of the bucket. Tokens saved with a greater share are lost."""
        self._refresh()
        self._share = share
        self._level = min(self._level, self.burst - self._in_flight)

    def take(self) -> None:
        """A call leaves. Exactly one of `landed`, `flooded` and `doubted` follows."""
        self._refresh()
        self._level -= 1.0
        self._in_flight += 1

    def landed(self) -> None:
        """The platform answered, but not with a flood."""
        self._refresh()
        self._back()
        self._accepted.append(self._as_of)

    def doubted(self) -> None:
        """No clear answer: the call may still land for a while."""
        self._refresh()
        self._doubtful.append(self._as_of + DOUBT_HOLDS_S)
        self._accepted.append(self._as_of)

    def flooded(self, retry_after_s: float, *, to_blame: bool = True) -> None:
        """The platform refused the call and wants none for `retry_after_s`. `to_blame`: because of this bucket."""
        self._refresh()
        now = self._as_of
        self._back()
        self._level = min(self._level, 0.0)
        self._blocked_until = max(self._blocked_until, now + retry_after_s + FLOOD_MARGIN_S)
        if not to_blame:
            return
        self._clean_since = now
        if now - self._cut_at >= CUT_EVERY_S:
            self._cut_at = now
            self._truth *= self._cut(now)

    def next_token_at(self) -> float:
        """When `can_take` becomes true unless a call leaves; infinite if only an answer or a grant can change it."""
        self._refresh()
        if self.cap < 1.0 - _EPSILON:
            return self._doubtful[0] if self._doubtful else math.inf
        lacking = max(0.0, 1.0 - self._level)
        return max(self._blocked_until, self._as_of + lacking / self.rate_per_s, self._window_opens_at())

    def _window_opens_at(self) -> float:
        lacking = 1.0 - self.left
        if lacking <= 0:
            return -math.inf
        frees_at = self.frees_at()
        return frees_at[int(lacking) - 1] if lacking <= len(frees_at) else math.inf

    def _back(self) -> None:
        """A call can no longer land."""
        self._in_flight -= 1
        if self._configured.window is not None:
            self._counted.append(self._as_of)

    def _cut(self, now: float) -> float:
        """The factor by which the rate falls: n calls accepted in T s prove a rate of (n - burst) / T."""
        rate_per_s, proven = self.rate_per_s, 0.0
        if not rate_per_s:
            return 1.0
        for count, since in enumerate(reversed(self._accepted), start=1):
            window_s = now - since
            if window_s >= PROOF_TOKENS / rate_per_s:
                proven = max(proven, (count - self.burst) / window_s)
        return min(CUT_LEAST, max(CUT_MOST, PROOF_TRUST * proven / rate_per_s))

    def _refresh(self) -> None:
        now = self._clock.monotonic()
        while self._doubtful and self._doubtful[0] <= now:
            self._refill(self._doubtful.popleft())
            self._back()
        self._refill(now)
        window = self._configured.window
        while window is not None and self._counted and self._counted[0] <= now - window.seconds + _EPSILON:
            self._counted.popleft()

    def _recover(self) -> None:
        now = self._clock.monotonic()
        while self._truth < 1.0 and now - self._clean_since >= CLEAN_S:
            self._clean_since += CLEAN_S
            self._truth = min(1.0, self._truth / CLEAN_STEP)

    def _refill(self, until: float) -> None:
        if until > self._as_of:
            refilled = self._level + (until - self._as_of) * self.rate_per_s
            self._level = max(self._level, min(self.burst - self._in_flight, refilled))
            self._as_of = until


MAX_KNOWN_BUDGETS: Final = 10_000


class KeyedBudgets:
    def __init__(self, budget: Budget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._buckets = RecentValues[str, tuple[float, float]](MAX_KNOWN_BUDGETS)

    def take(self, key: str) -> bool:
        """Use one token of the key's bucket; False without using any if it is empty."""
        now_s, most = self._clock.monotonic(), self._budget.burst
        tokens, at_s = self._buckets.get(key) or (most, now_s)
        tokens = min(most, tokens + (now_s - at_s) * self._budget.rate_per_s)
        may = tokens >= 1
        self._buckets.keep(key, (tokens - may, now_s))
        return may
