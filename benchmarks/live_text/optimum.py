"""The best schedule there is for a text that is known in advance: an exact plan over (time, tokens) on a grid.

One call in flight, each lands after half of the latency. On a grid the plan can only be worse than without one, so a
ratio to it is never too high by more than the grid costs (below 0.5 % for the ticks of `profiles.py`).
"""

from __future__ import annotations

import math
from itertools import accumulate
from operator import add

from adapters.capabilities import Budget
from benchmarks.live_text.profiles import Profile
from benchmarks.live_text.traces import Chunk, Trace

LATENCY_S = 0.18
"""Mean of the simulated calls, seconds."""
_LONGEST_GAP_S = 5.0
"""The plan leaves at most this between two calls, or four token times if that is more."""


class _Sums:
    """By tick: characters produced, and the sum of their times of production."""

    def __init__(self, chunks: Trace, tick_s: float, ticks: int) -> None:
        lengths, moments = [0] * (ticks + 1), [0.0] * (ticks + 1)
        before = 0
        for chunk in chunks:
            tick = math.ceil(chunk.at / tick_s - 1e-9)
            lengths[tick] += chunk.length - before
            moments[tick] += (chunk.length - before) * chunk.at
            before = chunk.length
        self.lengths, self.moments = list(accumulate(lengths)), list(accumulate(moments))
        self.lands = [tick * tick_s + LATENCY_S / 2 for tick in range(ticks + 1)]
        self.areas = [n * at - sum_ for n, at, sum_ in zip(self.lengths, self.lands, self.moments, strict=True)]

    def costs(self, since: int, longest: int) -> list[float]:
        """Of calls 0, 1, … ticks after one at `since`: the delays of all that was produced between."""
        count, moment = self.lengths[since], self.moments[since]
        calls = slice(since, since + longest + 1)
        return [area - count * at + moment for area, at in zip(self.areas[calls], self.lands[calls], strict=True)]


class Plan:
    """`delay_s` is the mean delay of a character; `landings` what is seen when, if it is asked for."""

    def __init__(self, chunks: Trace, budget: Budget, tick_s: float) -> None:
        self._tick_s = tick_s
        self._token = round(1 / budget.rate_per_s / tick_s)
        self._most = int(budget.burst * self._token)
        self._apart = math.ceil(LATENCY_S / tick_s - 1e-9)
        self._longest = max(4 * self._token, round(_LONGEST_GAP_S / tick_s))
        self._end = math.ceil(chunks[-1].at / tick_s - 1e-9)
        self._sums = _Sums(chunks, tick_s, self._end + self._longest + 1)
        self._spare = self._most - self._token
        # _best[at - left + _spare][left]: least cost from `at` on, after a call at `at` that left `left` units, a unit
        # being the refill of a tick; on such a diagonal lie the states that waiting leads through.
        self._best = [[0.0] * (self._spare + 1) for _ in range(self._end + self._longest + self._spare + 2)]
        self._full = [0.0] * (self._end + self._longest + 2)
        for at in range(self._end - 1, -1, -1):
            self._plan(at)
        firsts = [area + self._full[at] for at, area in enumerate(self._sums.areas[: self._end + 1])]
        self._total = chunks[-1].length
        self._first = min(range(len(firsts)), key=firsts.__getitem__)
        self.delay_s = firsts[self._first] / self._total

    def _plan(self, at: int) -> None:
        costs = self._sums.costs(at, self._longest)
        for left in range(self._spare + 1):
            self._best[at - left + self._spare][left] = min(self._options(at, left, costs))
        self._full[at] = self._best[at][self._spare]

    def _options(self, at: int, left: int, costs: list[float]) -> list[float]:
        """What each wait costs, from the shortest that is allowed on."""
        shortest, filled = max(self._apart, self._token - left), self._most - left
        diagonal = self._best[at - left + self._token + self._spare]
        waits = list(map(add, costs[shortest : filled + 1], diagonal[left + shortest - self._token :]))
        return waits + list(map(add, costs[max(shortest, filled + 1) :], self._full[at + max(shortest, filled + 1) :]))

    def landings(self) -> list[Chunk]:
        """When which length is seen."""
        at, left, seen = self._first, self._spare, list[Chunk]()
        while True:
            seen.append(Chunk(self._sums.lands[at], self._sums.lengths[at]))
            if at >= self._end:
                return seen
            options = self._options(at, left, self._sums.costs(at, self._longest))
            wait = max(self._apart, self._token - left) + options.index(min(options))
            at, left = at + wait, min(self._most, left + wait) - self._token


def optimum(chunks: Trace, profile: Profile) -> float:
    """Mean delay of a character under the best plan, seconds."""
    return Plan(chunks, profile.budget, profile.tick_s).delay_s
