"""Every policy on the same traces, beside the optimum: one line a policy, paired by seed."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

from msgspec import Struct

from benchmarks.live_text.optimum import optimum
from benchmarks.live_text.policies import OURS, POLICIES
from benchmarks.live_text.profiles import PROFILES
from benchmarks.live_text.simulation import Run, Setting, Speech, simulate
from benchmarks.live_text.traces import TRACES, steady_chars

STARTS_SPREAD_S = 4.0
"""Several texts begin within so many seconds."""
SHARED_TEXT_CHARS = 3000
_RESAMPLES = 400


class Scenario(Struct, frozen=True):
    """One text, or several in one bucket; with faults of the wire or without."""

    profile: str
    trace: str
    texts: int = 1
    lost_answers: float = 0.0
    spikes: float = 0.0

    @property
    def name(self) -> str:
        faults = f", {self.lost_answers:.0%} of answers lost" if self.lost_answers else ""
        faults += f", {self.spikes:.0%} of calls take 2 to 6 s" if self.spikes else ""
        return f"{self.profile}, {f'{self.texts} x ' if self.texts > 1 else ''}{self.trace}{faults}"

    def speeches(self, seed: int) -> list[Speech]:
        if self.texts == 1:
            return [Speech(0.0, TRACES[self.trace](seed))]
        source = random.Random(seed)
        return [Speech(source.uniform(0, STARTS_SPREAD_S), steady_chars(SHARED_TEXT_CHARS)) for _ in range(self.texts)]


class Line(Struct, frozen=True):
    """What a policy made of a scenario; means over its runs, ratios as ratios of sums. `optimum_s` of single texts."""

    scenario: Scenario
    policy: str
    delay_s: float
    optimum_s: float | None
    interval: tuple[float, float] | None
    worst_ratio: float | None
    first_s: float
    tail_s: float
    longest_tail_s: float
    longest_gap_s: float
    calls: float
    floods: int
    failures: int

    @property
    def ratio(self) -> float | None:
        """Mean delay as a multiple of the optimum's."""
        return None if self.optimum_s is None else self.delay_s / self.optimum_s


def compare(scenarios: Sequence[Scenario], seeds: Sequence[int], *, processes: int = 2) -> list[Line]:
    """All lines, in the order of the scenarios and then of the policies."""
    with ProcessPoolExecutor(processes) as pool:
        singles = [(one.profile, one.trace, seed) for one in scenarios if one.texts == 1 for seed in seeds]
        best = dict(zip(singles, pool.map(_optimum, singles, chunksize=2), strict=True))
        jobs = [(one, policy, seed) for one in scenarios for policy in POLICIES for seed in seeds]
        runs = dict(zip(jobs, pool.map(_run, jobs, chunksize=4), strict=True))
    lines: list[Line] = []
    for one in scenarios:
        floors = [best[one.profile, one.trace, seed] for seed in seeds] if one.texts == 1 else None
        lines += [_line(one, policy, [runs[one, policy, seed] for seed in seeds], floors) for policy in POLICIES]
    return lines


def greedy_beaten(lines: Iterable[Line]) -> dict[Scenario, float]:
    """By scenario: our mean delay as a multiple of that of a frame whenever there is a token."""
    delays = {(line.scenario, line.policy): line.delay_s for line in lines}
    return {one: delay_s / delays[one, "greedy"] for (one, policy), delay_s in delays.items() if policy == OURS}


def _optimum(job: tuple[str, str, int]) -> float:
    profile, trace, seed = job
    return optimum(TRACES[trace](seed), PROFILES[profile])


def _run(job: tuple[Scenario, str, int]) -> Run:
    one, policy, seed = job
    setting = Setting(PROFILES[one.profile], POLICIES[policy], one.lost_answers, one.spikes, seed)
    return simulate(one.speeches(seed), setting)


def _line(one: Scenario, policy: str, runs: Sequence[Run], floors: Sequence[float] | None) -> Line:
    texts = [text for run in runs for text in run.texts]
    delays = [statistics.fmean(text.delay_s for text in run.texts) for run in runs]
    return Line(
        scenario=one,
        policy=policy,
        delay_s=statistics.fmean(delays),
        optimum_s=None if floors is None else statistics.fmean(floors),
        interval=None if floors is None else _interval(delays, floors),
        worst_ratio=None if floors is None else max(delay / floor for delay, floor in zip(delays, floors, strict=True)),
        first_s=statistics.fmean(text.first_s for text in texts),
        tail_s=statistics.fmean(text.tail_s for text in texts),
        longest_tail_s=max(text.tail_s for text in texts),
        longest_gap_s=max(text.gap_s for text in texts),
        calls=statistics.fmean(run.calls for run in runs),
        floods=sum(run.floods for run in runs),
        failures=sum(run.failed for run in runs),
    )


def _interval(delays: Sequence[float], floors: Sequence[float]) -> tuple[float, float]:
    """95 % of the ratio of sums, by drawing seeds again."""
    source = random.Random(0)
    indices = range(len(delays))
    ratios = []
    for _ in range(_RESAMPLES):
        drawn = source.choices(indices, k=len(delays))
        ratios.append(sum(delays[i] for i in drawn) / sum(floors[i] for i in drawn))
    ratios.sort()
    return ratios[int(0.025 * _RESAMPLES)], ratios[int(0.975 * _RESAMPLES) - 1]
