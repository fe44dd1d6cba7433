"""The policy for when a growing text makes its next call.

The measure is the mean delay of a character. Each call takes a token of a bucket (`adapters/pacing/bucket.py`), so
calls are spread over the expected length of the answer: a frame is due when the area of what nobody has seen yet
(characters x seconds) reaches what one interval of this text earns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from adapters.pacing.constants import (
    CROWDING_POWER,
    ELAPSED_MIN_S,
    END_WAITS_S,
    EXPECTED_REST_GROWTH,
    EXPECTED_REST_POWER,
    EXPECTED_REST_TOKENS,
    FIRST_CHARS,
    FIRST_HOLD_MAX_S,
    FIRST_HOLD_S,
    PAUSE_WAITS_S,
    SPARE_POWER,
    WINDOW_KEEPS,
    WINDOW_REST,
)
from adapters.pacing.live_text import Progress

_EPSILON = 1e-9


class Supply(Struct, frozen=True):
    """A bucket's state for a decision: tokens there and at most, and the number of texts that draw from it.

    `left` is the number of calls that its window allows now, and `frees_at` the times when it allows one more each.
    """

    rate_per_s: float
    burst: float
    level: float
    cap: float
    texts: int
    left: float = math.inf
    frees_at: Sequence[float] = ()


class FramePolicy(Protocol):
    """Decides when the next frame of a growing text is due. Tokens are the scheduler's business."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        """A time up to `now`: due. A later time: the earliest at which it can become due if no chunk comes."""


class AreaPolicy:
    """Frames become due by unshown area, at intervals that spend the burst over the expected rest."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        """See `FramePolicy`. A text that draws from several buckets follows the one with the longest wait."""
        if not text.visible:
            holds_s = [_first_hold_s(supply) for supply in supplies]
            early_s = [hold_s for hold_s in holds_s if hold_s is not None]
            if len(early_s) == len(holds_s):
                alone = all(supply.texts <= 1 for supply in supplies)
                return now if alone and text.produced >= FIRST_CHARS else now - text.age(now) + max(early_s)
        interval_s = max(
            max(_interval_s(supply, text.elapsed(now)), _window_interval_s(supply, text.elapsed(now), now))
            for supply in supplies
        )
        oldest_at = now - text.age(now)
        due_at = min(
            _area_at(text, interval_s, now),
            max(
                _level_at(supply, 1.0 + _reserve(supply, PAUSE_WAITS_S), now, not_before=text.quiet_at)
                for supply in supplies
            ),
            max(
                _level_at(supply, supply.cap, now, not_before=oldest_at + min(interval_s, 1.0 / supply.rate_per_s))
                for supply in supplies
            ),
        )
        return max(due_at, *(_window_opens_at(supply, now) for supply in supplies))


def _first_hold_s(own: Supply) -> float | None:
    """The longest wait of a first frame for more text; None if there are too many texts for early first frames."""
    if own.texts <= 1:
        return FIRST_HOLD_S
    return None if own.texts > own.burst else min(FIRST_HOLD_MAX_S, own.texts / (2 * own.rate_per_s))


def _reserve(supply: Supply, waits_s: float) -> float:
    """The tokens to leave so that the next one comes within `waits_s`."""
    return max(0.0, 1.0 - supply.rate_per_s * waits_s)


def _interval_s(supply: Supply, elapsed_s: float) -> float:
    lasted = supply.rate_per_s * elapsed_s
    rest_s = (EXPECTED_REST_TOKENS + EXPECTED_REST_GROWTH * math.pow(lasted, EXPECTED_REST_POWER)) / supply.rate_per_s
    spare = max(0.0, supply.level - 1.0 - _reserve(supply, END_WAITS_S))
    crowding = max(1.0, supply.texts / supply.burst)
    return (
        supply.texts / math.pow(crowding, CROWDING_POWER) / (supply.rate_per_s + math.pow(spare, SPARE_POWER) / rest_s)
    )


def _window_interval_s(supply: Supply, elapsed_s: float, now: float) -> float:
    """The shortest interval that a window can sustain for as long as the text may continue."""
    if supply.left == math.inf:
        return 0.0
    ends_at = now + WINDOW_REST * elapsed_s
    spare = supply.left - 1.0 - WINDOW_KEEPS
    freed = [at for at in supply.frees_at if at < ends_at]
    needed_s = [(at - now) / max(1.0, spare + number) for number, at in enumerate([*freed, ends_at], start=1)]
    crowding = max(1.0, supply.texts / supply.burst)
    return supply.texts / math.pow(crowding, CROWDING_POWER) * max(needed_s)


def _window_opens_at(supply: Supply, now: float) -> float:
    """The time when a growing text may use a call of a window: its end needs the last one."""
    lacking = 1.0 + WINDOW_KEEPS - supply.left
    if lacking <= 0:
        return now
    return supply.frees_at[int(lacking) - 1] if lacking <= len(supply.frees_at) else math.inf


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
