"""The freshness of growing text on a platform with limits: mean delay of a character, against the best schedule.

`python -m benchmarks.live_text.freshness` prints the short comparison in virtual time, `--full` all scenarios with 30
seeds (half an hour), `--wire` real time over the real client libraries, and `--picture FILE` draws text produced and
text shown. docs/inside/live-text.md says what the figures mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.live_text import long_answers
from benchmarks.live_text.comparison import Line, Scenario, compare
from benchmarks.live_text.picture import draw
from benchmarks.live_text.policies import OURS
from benchmarks.live_text.profiles import PROFILES
from benchmarks.live_text.real_time import Shown, show_everything
from benchmarks.live_text.traces import TRACES
from benchmarks.table import Row, show

SHORT_SEEDS = range(3)
FULL_SEEDS = range(30)
SHORT = [
    Scenario(profile, trace)
    for profile in ("Telegram private", "Telegram group", "Slack update")
    for trace in ("steady 15 s", "bursty 50/s")
]
FULL = [
    *(
        Scenario(profile, trace)
        for trace in TRACES
        for profile in PROFILES
        if trace != "steady 60 s" or profile.startswith("Telegram")
    ),
    Scenario("Telegram private", "steady 15 s", lost_answers=0.15),
    Scenario("Telegram group", "bursty 50/s", lost_answers=0.15),
    Scenario("Telegram private", "steady 15 s", spikes=0.05),
    *(
        Scenario(profile, "steady 15 s", texts=texts)
        for texts in (5, 25)
        for profile in PROFILES
        if profile != "Discord"
    ),
]
HELD = {
    ("Telegram private", "steady 15 s"): 1.08,
    ("Telegram private", "bursty 50/s"): 1.30,
    ("Telegram group", "steady 15 s"): 1.25,
    ("Telegram group", "bursty 50/s"): 1.50,
    ("Slack update", "steady 15 s"): 1.15,
    ("Slack update", "bursty 50/s"): 1.40,
}
"""The ratios to the optimum that are held."""


TITLES = (
    "scenario", "policy", "delay", "optimum", "ratio", "95 %", "worst", "first", "tail", "longest tail", "longest gap",
    "calls", "429", "failed",
)  # fmt: skip
WIRE_TITLES = ("text", "delay", "first", "gap", "tail", "calls", "429", "502", "whole, once", "end", "lateness 99 %")


def run() -> list[Row]:
    """The short comparison: mean delays, what went wrong, and long answers."""
    rows: list[Row] = []
    for line in compare(SHORT, SHORT_SEEDS):
        held = HELD.get((line.scenario.profile, line.scenario.trace)) if line.policy == OURS else None
        title = f"{line.scenario.name}: {line.policy}" + (f" (FAIL: {line.failures})" if line.failures else "")
        target = "" if held is None else f"<= {held:.2f}"
        rows.append(Row(title, line.delay_s, "s", line.optimum_s, "optimum", target))
    return [*rows, *long_answers.rows(), *long_answers.very_long_rows()]


def table(lines: Sequence[Line]) -> str:
    """All figures, one line a policy."""
    cells = [TITLES]
    for line in lines:
        low, high = line.interval or (0.0, 0.0)
        known = line.ratio is not None
        cells.append(
            (
                line.scenario.name,
                line.policy,
                f"{line.delay_s:.3f} s",
                f"{line.optimum_s:.3f} s" if line.optimum_s is not None else "",
                f"{line.ratio:.3f}" if line.ratio is not None else "",
                f"{low:.2f}-{high:.2f}" if known else "",
                f"{line.worst_ratio:.2f}" if line.worst_ratio is not None else "",
                f"{line.first_s:.2f} s",
                f"{line.tail_s:.2f} s",
                f"{line.longest_tail_s:.2f} s",
                f"{line.longest_gap_s:.1f} s",
                f"{line.calls:.1f}",
                str(line.floods),
                str(line.failures),
            )
        )
    return _aligned(cells)


def wire_table(results: Sequence[Shown]) -> str:
    """All figures in real time, one line a text."""
    cells = [WIRE_TITLES]
    for shown in results:
        fresh, heard = shown.freshness, shown.heard
        cells.append(
            (
                shown.answer.name,
                f"{fresh.delay_s:.3f} s",
                f"{fresh.first_s:.2f} s",
                f"{fresh.gap_s:.2f} s",
                f"{fresh.tail_s:.2f} s",
                str(heard.calls),
                str(heard.floods),
                str(heard.lost),
                "yes" if fresh.whole and not fresh.fell else "NO",
                "yes" if shown.end_visible else "NO",
                f"{shown.lateness_s * 1000:.1f} ms",
            )
        )
    return _aligned(cells)


def _aligned(cells: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="How fresh text is that grows on a platform with limits.")
    parser.add_argument("--full", action="store_true", help="all scenarios, 30 seeds, virtual time")
    parser.add_argument("--seeds", type=int, default=len(FULL_SEEDS), help="fewer seeds for --full")
    parser.add_argument("--wire", action="store_true", help="real time, over the real client libraries")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw text produced and text shown")
    asked = parser.parse_args()
    if asked.picture is not None:
        draw(asked.picture)
    elif asked.wire:
        print(wire_table(show_everything()))
    elif asked.full:
        print(table(compare(FULL, range(asked.seeds))))
    else:
        print(show(run()))


if __name__ == "__main__":
    main()
