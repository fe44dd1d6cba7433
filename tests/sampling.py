"""Sweeps of which each run of tests lives a part: in `RUNS` runs of consecutive commits together everything is lived.

The turn is the number of the commit, modulo `RUNS`: whoever tests the same commit tries the same, and the next commits
try the rest. In a checkout without history it is the number of the day. `TESTS_SAMPLE=3` tries what turn 3 does,
`TESTS_SAMPLE=all` (`make test ALL=1`) tries everything. What a run left out is said at its end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeVar

RUNS = 20
VARIABLE = "TESTS_SAMPLE"

_ROOT = Path(__file__).parents[1]

T = TypeVar("T")


class Sample:
    """What is tried in one run; `turn` is None where that is everything."""

    def __init__(self, turn: int | None) -> None:
        self.turn = turn
        self.tried = self.known = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.turn is None

    def of(self, everything: Iterable[T]) -> Sequence[T]:
        """What of it is tried: each thing at one turn, and at least one thing at each."""
        known = list(everything)
        tried = known if self.turn is None else known[self.turn :: RUNS] or known[self.turn % len(known) :][:1]
        self.known += len(known)
        self.tried += len(tried)
        return tried

    def __str__(self) -> str:
        return f"{VARIABLE}={'all' if self.turn is None else self.turn}"

    def told(self) -> str:
        """What was left out, and how to try it; "" where nothing was."""
        if self.tried == self.known:
            return ""
        return (
            f"Sampled: {self.tried:,} of {self.known:,} deaths, cuts and orders of sweeps, turn "
            f"{self.turn} of {RUNS}. {self} repeats them, make test ALL=1 tries all, the next commit others."
        )


def turn_of(checkout: Path, asked: str, today: datetime) -> int | None:
    """The turn that is asked for, else that of the commit, else that of the day; None for all at once."""
    if asked == "all":
        return None
    if asked:
        return int(asked) % RUNS
    git = (
        ["git", "-C", str(checkout), "rev-parse", "--is-shallow-repository"],
        ["git", "-C", str(checkout), "rev-list", "--count", "HEAD"],
    )
    try:
        is_shallow, count = (subprocess.check_output(each, text=True, stderr=subprocess.DEVNULL) for each in git)
    except (OSError, subprocess.CalledProcessError):
        return today.toordinal() % RUNS
    return (today.toordinal() if is_shallow.strip() == "true" else int(count)) % RUNS


@cache
def sample() -> Sample:
    """The sample of this run."""
    return Sample(turn_of(_ROOT, os.environ.get(VARIABLE, ""), datetime.now(UTC)))
