"""Other ways to decide when a frame is due, under the same mirrors: what ours is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from adapters.pacing.frame_policy import AreaPolicy, FramePolicy, Supply
from adapters.pacing.live_text import Progress


class Greedy:
    """A frame whenever there is a token."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        return now


class LeadAndTrail:
    """A frame at once, then one every token time while text comes: the usual throttle of chat bots, one a text."""

    def __init__(self) -> None:
        self._sent: dict[int, tuple[int, float]] = {}

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        covered, sent_at = self._sent.get(id(text), (0, -math.inf))
        if text.covered != covered:
            sent_at = text.oldest_at or now
            self._sent[id(text)] = (text.covered, sent_at)
        return max(now, sent_at + 1 / supplies[0].rate_per_s)


OURS = "ours"
POLICIES: Mapping[str, Callable[[], FramePolicy]] = {OURS: AreaPolicy, "greedy": Greedy, "lead+trail": LeadAndTrail}
