"""When a growing text deserves the next call: the policy, and every constant of live text, with unit and source.

The measure is the mean delay of a character. A call costs a token of a bucket (`adapters/bucket.py`), so calls are
spread over the expected length of the answer: a frame is due when the area of what nobody has seen yet (characters x
seconds) reaches what one interval of this text earns. "Simulated" below: chosen on separate seeds against continuous
token buckets and the exact optimum (`benchmarks/freshness.py` repeats the comparison).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

EXPECTED_REST_TOKENS = 1.0
"""Token times (1 / rate) a text is expected to go on at least. Simulated; the same on all platforms."""
EXPECTED_REST_RATIO = 0.3
"""The rest of a text expected per second it has lasted. Simulated."""
RESERVE_TOKENS = 0.0
"""Tokens kept for the end of a text. 1 shortens the tail to 0.13 s and costs 3 % of mean delay. Simulated."""
FIRST_CHARS = 20
"""Characters that justify the first frame at once. Simulated: showing the very first chunk costs 6 %."""
FIRST_HOLD_S = 0.3
"""Seconds after which the first frame is sent however short, when the text is alone in its bucket. Simulated."""
FIRST_HOLD_MAX_S = 2.0
"""The longest hold of a first frame when texts share a bucket: min(2 s, texts / (2 rate)). Simulated."""
QUIET_SPACINGS = 4.0
"""A source is quiet after this many usual spacings of its chunks. Simulated."""
QUIET_MIN_S = 0.1
"""A source is never called quiet earlier, in seconds. Simulated."""
SPACING_START_S = 0.1
"""The usual spacing of chunks before any was seen, seconds."""
SPACING_MAX_S = 0.5
"""A pause counts as at most this much spacing, seconds."""
SPACING_WEIGHT = 0.1
"""Weight of the newest spacing in the moving average."""
ELAPSED_MIN_S = 0.2
"""The mean speed of a text is taken over at least this many seconds."""
FINAL_WEIGHT = 1000.0
"""How much more a finished text counts than a growing one in score order: the shortest tails. Simulated."""
TIMER_MIN_S = 0.001
"""A timer is never set nearer than this, seconds: rounding must not make it spin."""
FLOOD_MARGIN_S = 0.02
"""Added to the platform's retry time, seconds: its clock and ours do not tick together."""
DOUBT_HOLDS_S = 2.0
"""A call without an answer may still land for this long, seconds; until then it counts as in flight. Chosen."""
RETRY_FIRST_S = 1.0
"""The second repetition after unclear answers waits this long, seconds; then twice as long each time. Chosen."""
RETRY_MAX_S = 30.0
"""The longest wait between repetitions, seconds. Chosen."""
PROOF_TOKENS = 8.0
"""Accepted calls prove a rate over windows of at least this many token times. Simulated."""
PROOF_CALLS = 600
"""How many accepted calls are remembered as proof."""
PROOF_TRUST = 0.98
"""The part of a proven rate that is used. Simulated."""
CUT_LEAST = 0.95
"""A flood lowers the rate at least to this part of itself. Simulated."""
CUT_MOST = 0.8
"""A flood never lowers the rate below this part of itself. Simulated."""
CUT_EVERY_S = 1.0
"""One flood of many refused calls lowers the rate once in this many seconds."""
CLEAN_S = 600.0
"""Seconds without a flood after which the rate rises again by one step. Simulated."""
CLEAN_STEP = 0.97
"""One step of recovery divides the rate by this, up to the configured one. Simulated."""
TYPING_EARLY_S = 1.0
"""The typing sign is repeated this long before it would vanish, seconds."""
TYPING_LEAVES = 0.5
"""The typing sign must leave this part of a bucket's burst. Chosen: text comes first."""

_EPSILON = 1e-9


@dataclass(slots=True)
class Progress:
    """How far a growing text is and how much of it people see. Times are `Clock.monotonic`, lengths characters.

    `area` is the sum over unshown characters of their age, in character seconds, at `area_at`.
    """

    first_at: float
    newest_at: float
    oldest_at: float | None = None
    area_at: float = 0.0
    area: float = 0.0
    spacing_s: float = SPACING_START_S
    produced: int = 0
    covered: int = 0
    visible: bool = False

    def said(self, length: int, now: float) -> None:
        """The text is now `length` characters long."""
        spacing_s = min(SPACING_MAX_S, now - self.newest_at)
        if self.produced:
            self.spacing_s += SPACING_WEIGHT * (spacing_s - self.spacing_s)
        self._age(now)
        self.newest_at = now
        self.produced = length
        if self.oldest_at is None:
            self.oldest_at = now

    def sending(self, covers: int, now: float) -> None:
        """A frame with the first `covers` characters leaves."""
        self._age(now)
        self.area = 0.0
        self.covered = covers
        self.oldest_at = None if covers >= self.produced else now

    def failed(self, visible: int, now: float) -> None:
        """The frame did not land: people still see only `visible` characters."""
        self._age(now)
        self.covered = visible
        if self.oldest_at is None:
            self.oldest_at = now

    def area_now(self, now: float) -> float:
        return self.area + self.unshown * (now - self.area_at)

    def age(self, now: float) -> float:
        """Seconds since the oldest unshown character was produced."""
        return 0.0 if self.oldest_at is None else now - self.oldest_at

    def elapsed(self, now: float) -> float:
        return now - self.first_at

    @property
    def unshown(self) -> int:
        return max(0, self.produced - self.covered)

    @property
    def quiet_at(self) -> float:
        """When the source counts as quiet unless another chunk comes."""
        return self.newest_at + max(QUIET_MIN_S, QUIET_SPACINGS * self.spacing_s)

    def _age(self, now: float) -> None:
        self.area = self.area_now(now)
        self.area_at = now


@dataclass(frozen=True, slots=True)
class Supply:
    """One bucket as a decision sees it: tokens there are and may be, and how many texts draw from it."""

    rate_per_s: float
    burst: float
    level: float
    cap: float
    texts: int


class FramePolicy(Protocol):
    """Decides when the next frame of a text that still grows is due. Tokens are the scheduler's business."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        """`now` or earlier: due. Later: the earliest time it can become due if no chunk comes."""
        ...


class AreaPolicy:
    """Frames where the unshown area has earned them, in intervals that spend the burst over the expected rest."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        """See `FramePolicy`; the first of `supplies` is the conversation's own bucket."""
        own = supplies[0]
        hold_s = _first_hold_s(own)
        if not text.visible and hold_s is not None:
            enough = own.texts <= 1 and text.produced >= FIRST_CHARS
            return now if enough else now - text.age(now) + hold_s
        interval_s = max(_interval_s(supply, text.elapsed(now)) for supply in supplies)
        return min(
            _area_at(text, interval_s, now),
            _level_at(own, 1.0 + RESERVE_TOKENS, now, not_before=text.quiet_at),
            _level_at(own, own.cap, now, not_before=now - text.age(now) + min(interval_s, 1.0 / own.rate_per_s)),
        )


def _first_hold_s(own: Supply) -> float | None:
    """How long a first frame may wait for more text; None when there are too many texts for early first frames."""
    if own.texts <= 1:
        return FIRST_HOLD_S
    return None if own.texts > own.burst else min(FIRST_HOLD_MAX_S, own.texts / (2 * own.rate_per_s))


def _interval_s(supply: Supply, elapsed_s: float) -> float:
    rest_s = EXPECTED_REST_TOKENS / supply.rate_per_s + EXPECTED_REST_RATIO * elapsed_s
    spare = max(0.0, supply.level - 1.0 - RESERVE_TOKENS)
    return supply.texts / (supply.rate_per_s + spare / rest_s)


def _area_at(text: Progress, interval_s: float, now: float) -> float:
    speed = text.produced / max(text.elapsed(now), ELAPSED_MIN_S)
    lacking = speed * interval_s**2 / 2 * (1 - _EPSILON) - text.area_now(now)
    if lacking <= 0:
        return now
    return now + lacking / text.unshown if text.unshown else math.inf


def _level_at(supply: Supply, tokens: float, now: float, *, not_before: float) -> float:
    if supply.cap < tokens - _EPSILON:
        return math.inf
    refilled_at = now + max(0.0, tokens - supply.level - _EPSILON) / supply.rate_per_s
    return max(refilled_at, not_before)
