"""When a growing text deserves the next call.

The measure is the mean delay of a character. A call costs a token of a bucket (`adapters/bucket.py`), so calls are
spread over the expected length of the answer: a frame is due when the area of what nobody has seen yet (characters x
seconds) reaches what one interval of this text earns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.pacing import (
    ELAPSED_MIN_S,
    EXPECTED_REST_RATIO,
    EXPECTED_REST_TOKENS,
    FIRST_CHARS,
    FIRST_HOLD_MAX_S,
    FIRST_HOLD_S,
    RESERVE_TOKENS,
)
from adapters.progress import Progress

_EPSILON = 1e-9


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
