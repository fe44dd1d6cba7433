"""What came of the runs, as a table."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from evals.models import Scripted
from evals.record import Cost
from evals.results import Run


class Result(Struct):
    """A program's runs. `unseen` says that nobody tuned wording on it, `skipped` why there are none."""

    name: str
    title: str
    runs: list[Run] = field(default_factory=list)
    skipped: str = ""
    unseen: bool = False

    @property
    def right(self) -> int:
        """How many runs were right."""
        return sum(not run.wrong for run in self.runs)

    def mean(self, figure: Callable[[Cost], float]) -> float:
        """The mean of a figure over the runs."""
        return statistics.fmean(figure(run.record.cost) for run in self.runs)


_FIGURES: dict[str, Callable[[Cost], float]] = {
    "calls": lambda cost: cost.calls,
    "tokens in": lambda cost: cost.tokens_in,
    "tokens out": lambda cost: cost.tokens_out,
    "chars in": lambda cost: cost.chars_in,
    "chars out": lambda cost: cost.chars_out,
    "shown": lambda cost: cost.chars_shown,
    "hidden": lambda cost: max(cost.unseen_chars, default=0),
    "first s": lambda cost: statistics.median(cost.first_visible_s or [0.0]),
    "s": lambda cost: cost.seconds,
}
"""The columns: sums over one run, but `hidden`, the most that was written before a line's first visible character, and
`first s`, the median wait for it."""

_NOT_SUMS: dict[str, Callable[[list[float]], float]] = {"hidden": max, "first s": statistics.median}


def show(model: str, results: Sequence[Result]) -> str:
    """The table, then why programs were not right. Tuned and unseen programs have sums of their own where both ran."""
    cells = [["program", "right", *_FIGURES]]
    cells += [_row(result) for result in results]
    ran = [result for result in results if result.runs]
    unseen = [result for result in ran if result.unseen]
    if 0 < len(unseen) < len(ran):
        cells += [_total("tuned", [result for result in ran if not result.unseen]), _total("unseen", unseen)]
    if ran:
        cells.append(_total("all", ran))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [f"model: {model}"]
    for line in cells:
        first, *rest = (
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join([*lines, *_reasons(results), *_uncounted(model, results)])


def _row(result: Result) -> list[str]:
    if not result.runs:
        return [result.name, "-", *("" for _ in _FIGURES)]
    figures = [_figure(name, result.mean(figure)) for name, figure in _FIGURES.items()]
    return [result.name, _right([result]), *figures]


def _total(name: str, results: Sequence[Result]) -> list[str]:
    """Programs that were always right; sums of the means, but the greatest and the median where a sum says nothing."""
    figures = []
    for column, figure in _FIGURES.items():
        means = [result.mean(figure) for result in results]
        figures.append(_figure(column, _NOT_SUMS[column](means) if column in _NOT_SUMS else sum(means)))
    return [name, _right(results), *figures]


def _right(results: Sequence[Result]) -> str:
    return f"{sum(result.right for result in results)}/{sum(len(result.runs) for result in results)}"


def _figure(name: str, value: float) -> str:
    if name.startswith("tokens") and not value:
        return "-"  # nobody counted them
    return f"{value:,.1f}" if name in ("first s", "s") else f"{value:,.0f}"


def _reasons(results: Sequence[Result]) -> list[str]:
    lines = []
    for result in results:
        counted = Counter(problem for run in result.runs for problem in run.wrong)
        lines += [
            f"{result.name}: {problem}{f' ({times} times)' if times > 1 else ''}" for problem, times in counted.items()
        ]
        if result.skipped:
            lines.append(f"{result.name}: {result.skipped}")
    return ["", *lines] if lines else []


def _uncounted(model: str, results: Sequence[Result]) -> list[str]:
    requests = sum(run.record.cost.uncounted for result in results for run in result.runs)
    if not requests or model == Scripted.model:
        return []
    return [f"The tokens of {requests} requests are unknown: nobody counted them, or the answer was cut off."]
