"""What is repeated of a run of tests, and what its outcome is then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.whole_run import MOST, Ended, ended_as, judged

WHOLE = tuple(f"tests/e2e/test_x.py::test_{number}[a b]" for number in range(MOST + 1))
GOOD, BAD = Ended(0), Ended(1, WHOLE[:1])


class Run:
    """A run that is judged; `repeated` is what was repeated, `told` what was printed."""

    def __init__(self, ended: Ended, again: int = 0) -> None:
        self.repeated: list[str] = []
        self.told = ""
        self._again = again
        self.status = judged(ended, self._repeat, self._tell)

    def _repeat(self, names: Sequence[str]) -> int:
        self.repeated.extend(names)
        return self._again

    def _tell(self, text: str) -> None:
        self.told += text


def test_a_run_without_failures_passes_and_says_nothing() -> None:
    run = Run(GOOD)
    assert (run.status, run.repeated, run.told) == (0, [], "")


def test_what_passes_alone_passes_and_is_named() -> None:
    run = Run(Ended(1, (WHOLE[0], "tests/contract/test_y.py::test_it")))
    assert run.status == 0
    assert run.repeated == [WHOLE[0], "tests/contract/test_y.py::test_it"]
    assert "passed alone" in run.told
    assert all(f"  {name}\n" in run.told for name in run.repeated)


def test_what_fails_alone_too_has_failed() -> None:
    run = Run(BAD, again=1)
    assert run.status == 1
    assert "passed alone" not in run.told


@pytest.mark.parametrize(
    "ended",
    [
        Ended(1, WHOLE),
        Ended(1, (*WHOLE[:1], "tests/unit/test_z.py::test_it")),
        Ended(1, (*WHOLE[:1], "tests/language/test_cases.py::test_it")),
        Ended(2),
        Ended(-9),
        Ended(1),
        Ended(3, WHOLE[1:2]),
    ],
    ids=["many", "a unit", "the language", "broken off", "killed", "unknown", "an internal error"],
)
def test_what_no_busy_machine_explains_is_final(ended: Ended) -> None:
    run = Run(ended)
    assert run.status == 1
    assert run.repeated == []
    assert run.told.startswith("FAILED")


def test_what_failed_is_read_from_the_cache(tmp_path: Path) -> None:
    assert ended_as(0, tmp_path) == GOOD
    kept = tmp_path / "v" / "cache"
    kept.mkdir(parents=True)
    (kept / "lastfailed").write_text(json.dumps({WHOLE[0]: True}))
    assert ended_as(1, tmp_path) == BAD
