"""How fresh text is that grows on a platform with limits: mean delay of a character, against the best schedule.

The real presenter, scheduler and mirrors run in virtual time against a simulated platform: continuous token buckets,
full at the start, calls of 60 to 300 ms, a refused call pauses the bucket. The delay of a character is the time from
its production to the first landing that shows it. The optimum knows the future: an exact plan over (time, tokens) on a
grid with the mean latency, one call in flight. Pages are not split, and text has no marks. Run: `python -m
benchmarks.freshness`.
"""

from __future__ import annotations

import math
import random
import statistics
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import anyio

from adapters.capabilities import Budget
from adapters.edit_scheduler import EditScheduler
from adapters.frame_policy import AreaPolicy, FramePolicy, Supply
from adapters.presenter import Presenter
from adapters.progress import Progress
from benchmarks.table import Row, show
from benchmarks.virtual_time import LoopClock, run_virtually
from runtime.core.address import Address, Speaker
from tests.fakes.bucket_platform import GROUP, PRIVATE, TOTAL, BucketPlatform, Faults, make_capabilities

SEEDS = range(5)
"""Traces and latencies of a scenario; figures are means over them, ratios are ratios of these means."""
LATENCY_S = 0.18
"""Mean of the simulated calls, seconds; a call lands half way."""
STEADY_CHARS_PER_S = 200
CHUNK_CHARS = 4
BURST_TOKENS_PER_S = 50
LAST_CALL_S = 150.0
"""How long after a text's end the simulation waits for it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text is `length` characters long from `at` seconds on."""

    at: float
    length: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. Delays in seconds; `complete` when every character was shown, once."""

    delay_s: float
    first_s: float
    tail_s: float
    floods: int
    calls: int
    complete: bool


class Greedy:
    """A frame whenever there is a token."""

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        return now


class LeadAndTrail:
    """A frame at once, then one every token time while text comes; the usual throttle of chat bots."""

    def __init__(self) -> None:
        self._covered = 0
        self._sent_at = -math.inf

    def due_at(self, text: Progress, supplies: Sequence[Supply], now: float, /) -> float:
        if text.covered != self._covered:
            self._covered, self._sent_at = text.covered, text.oldest_at or now
        return max(now, self._sent_at + 1 / supplies[0].rate_per_s)


def steady(shortest_s: float, longest_s: float) -> Callable[[int], list[Chunk]]:
    """Constant speed for a length drawn from a range."""

    def trace(seed: int) -> list[Chunk]:
        count = int(random.Random(seed).uniform(shortest_s, longest_s) * STEADY_CHARS_PER_S / CHUNK_CHARS)
        return [Chunk(n * CHUNK_CHARS / STEADY_CHARS_PER_S, (n + 1) * CHUNK_CHARS) for n in range(count)]

    return trace


def bursty(seed: int) -> list[Chunk]:
    """A model's stream: bursts of about 3 s with pauses of 0.5 to 3 s between them, at most 25 s of text."""
    source = random.Random(seed)
    active_s = min(25.0, source.lognormvariate(math.log(8), 0.8))
    at, length, chunks = 0.0, 0, list[Chunk]()
    while active_s > 0:
        burst_s = min(active_s, source.expovariate(1 / 3) + 0.2)
        for _ in range(max(1, int(burst_s * BURST_TOKENS_PER_S))):
            at += source.gammavariate(2, 0.5 / BURST_TOKENS_PER_S)
            length += source.randint(2, 6)
            chunks.append(Chunk(at, length))
        active_s -= burst_s
        at += source.uniform(0.5, 3)
    return [Chunk(chunk.at - chunks[0].at, chunk.length) for chunk in chunks]


class _Forgetful:
    async def opening(self, part: int, text: str, /) -> None: ...
    async def sent(self, part: int, platform_id: str, /) -> None: ...


def simulate(chunks: Sequence[Chunk], budget: Budget, policy: FramePolicy, seed: int) -> Outcome:
    """Show one text by the real presenter and scheduler."""
    text = "".join(f"w{number:06d} " for number in range(chunks[-1].length // 8 + 1))[: chunks[-1].length]
    platform = run_virtually(lambda: _play(text, chunks, budget, policy, seed))
    return _judge(platform, text, chunks)


async def _play(text: str, chunks: Sequence[Chunk], budget: Budget, policy: FramePolicy, seed: int) -> BucketPlatform:
    clock = LoopClock()
    penalty_s = 3.0 if budget == PRIVATE else 12.0
    limits = make_capabilities(budget, max_text=10**6)
    platform = BucketPlatform(clock, budget, capabilities=limits, faults=Faults(penalty_s=penalty_s), seed=seed)
    async with anyio.create_task_group() as tasks:
        presenter = Presenter(platform, EditScheduler(TOTAL, clock, tasks, policy=policy), clock)
        page = presenter.page("p", Address("fake", "1"), Speaker("1000", "Host"), {}, _Forgetful())
        for chunk in chunks:
            await clock.sleep_until(chunk.at)
            page.update(text[: chunk.length])
        with anyio.move_on_after(LAST_CALL_S):
            await page.finish(text)
        tasks.cancel_scope.cancel()
    return platform


def _judge(platform: BucketPlatform, text: str, chunks: Sequence[Chunk]) -> Outcome:
    lengths = list(accumulate((len(landing.text.rstrip()) for landing in platform.landings), max))
    delays: list[tuple[float, int]] = []
    before = 0
    for chunk in chunks:
        landing = bisect_left(lengths, len(text[: chunk.length].rstrip()))
        shown_at = platform.landings[landing].at if landing < len(lengths) else chunks[-1].at + LAST_CALL_S
        delays.append((shown_at - chunk.at, chunk.length - before))
        before = chunk.length
    return Outcome(
        delay_s=sum(delay_s * count for delay_s, count in delays) / len(text),
        first_s=delays[0][0],
        tail_s=delays[-1][0],
        floods=platform.floods,
        calls=platform.calls,
        complete=[shown.rstrip() for shown in platform.messages.values()] == [text.rstrip()],
    )


def optimum(chunks: Sequence[Chunk], budget: Budget) -> float:
    """Mean delay in seconds of the best schedule that knows the text in advance.

    `best[i][u]` is the least cost from tick i on, after a call at i that left u units (a unit is a tick's refill).
    """
    tick_s = 0.1 if budget.rate_per_s >= 0.5 else 0.2
    token, most = round(1 / budget.rate_per_s / tick_s), int(budget.burst * round(1 / budget.rate_per_s / tick_s))
    apart, longest = math.ceil(LATENCY_S / tick_s), int(4 * token)
    end = math.ceil(chunks[-1].at / tick_s - 1e-9)
    ticks = end + longest + 1
    length, moments = _sums(chunks, tick_s, ticks)

    def cost(since: int, until: int) -> float:
        count = length[until] - (length[since] if since >= 0 else 0)
        return count * (until * tick_s + LATENCY_S / 2) - (moments[until] - (moments[since] if since >= 0 else 0))

    best: list[list[float]] = [[0.0] * (most - token + 1) for _ in range(ticks + 1)]
    for at in range(end - 1, -1, -1):
        costs = [cost(at, at + gap) for gap in range(longest + 1)]
        for left in range(most - token + 1):
            best[at][left] = min(
                costs[gap] + best[at + gap][min(most, left + gap) - token]
                for gap in range(max(apart, token - left), longest + 1)
            )
    return min(cost(-1, at) + best[at][most - token] for at in range(end + 1)) / chunks[-1].length


def _sums(chunks: Sequence[Chunk], tick_s: float, ticks: int) -> tuple[list[int], list[float]]:
    """By tick: characters produced, and the sum of their times of production."""
    length, moments = [0] * (ticks + 1), [0.0] * (ticks + 1)
    before = 0
    for chunk in chunks:
        tick = math.ceil(chunk.at / tick_s - 1e-9)
        length[tick] += chunk.length - before
        moments[tick] += (chunk.length - before) * chunk.at
        before = chunk.length
    return list(accumulate(length)), list(accumulate(moments))


POLICIES: dict[str, Callable[[], FramePolicy]] = {
    "ours": AreaPolicy,
    "greedy": Greedy,
    "lead+trail": LeadAndTrail,
}
SCENARIOS: dict[str, Callable[[int], list[Chunk]]] = {
    "steady 5 s": steady(3, 7),
    "steady 15 s": steady(12, 18),
    "steady 60 s": steady(45, 75),
    "bursty": bursty,
}
PLACES = {"private": PRIVATE, "group": GROUP}
TARGETS = {("steady 15 s", "private"): "<= 1.10", ("bursty", "private"): "<= 1.30", ("bursty", "group"): "<= 1.50"}


def run() -> list[Row]:
    """Mean delays of every scenario, place and policy; figures of the first text, the tail and refusals for ours."""
    rows: list[Row] = []
    for scenario, trace in SCENARIOS.items():
        for place, budget in PLACES.items():
            traces = [trace(seed) for seed in SEEDS]
            floor = statistics.fmean(optimum(chunks, budget) for chunks in traces)
            for name, policy in POLICIES.items():
                runs = [simulate(chunks, budget, policy(), seed) for seed, chunks in zip(SEEDS, traces, strict=True)]
                rows += _rows(f"{scenario}, {place}, {name}", runs, floor, TARGETS.get((scenario, place), ""), name)
    return rows


def _rows(title: str, runs: Sequence[Outcome], floor: float, target: str, policy: str) -> list[Row]:
    failed = sum(not one.complete for one in runs)
    delay = Row(
        f"{title}: mean delay" + (f" (FAIL: {failed} incomplete)" if failed else ""),
        statistics.fmean(one.delay_s for one in runs),
        "s",
        floor,
        "clairvoyant optimum",
        target if policy == "ours" else "",
    )
    floods = Row(f"{title}: refused calls", sum(one.floods for one in runs), "calls", target="0")
    if policy != "ours":
        return [delay, *([floods] if floods.value else [])]
    return [
        delay,
        Row(f"{title}: first text", statistics.fmean(one.first_s for one in runs), "s"),
        Row(f"{title}: tail", statistics.fmean(one.tail_s for one in runs), "s"),
        floods,
    ]


if __name__ == "__main__":
    print(show(run()))
