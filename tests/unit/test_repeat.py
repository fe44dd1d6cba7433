"""What is repeated of a run of tests, and what its outcome is then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.repeat import MOST, Part, judged, parts_of

WHOLE = tuple(f"tests/e2e/test_x.py::test_{number}[a b]" for number in range(MOST + 1))
GOOD, BAD = Part(0), Part(1, WHOLE[:1])


class Run:
    """A run that is judged; `repeated` is what was repeated, `told` what was printed."""

    def __init__(self, *parts: Part, again: int = 0) -> None:
        self.repeated: list[str] = []
        self.told = ""
        self._again = again
        self.status = judged(parts, self._repeat, self._tell)

    def _repeat(self, names: Sequence[str]) -> int:
        self.repeated.extend(names)
        return self._again

    def _tell(self, text: str) -> None:
        self.told += text


def test_a_run_without_failures_passes_and_says_nothing() -> None:
    run = Run(GOOD, GOOD)
    assert (run.status, run.repeated, run.told) == (0, [], "")


def test_what_passes_alone_passes_and_is_named() -> None:
    run = Run(GOOD, BAD, Part(1, ("tests/contract/test_y.py::test_it",)))
    assert run.status == 0
    assert run.repeated == [WHOLE[0], "tests/contract/test_y.py::test_it"]
    assert "passed alone" in run.told
    assert all(f"  {name}\n" in run.told for name in run.repeated)


def test_what_fails_alone_too_has_failed() -> None:
    run = Run(BAD, again=1)
    assert run.status == 1
    assert "passed alone" not in run.told


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (GOOD, Part(1, WHOLE)),
        (BAD, Part(1, ("tests/unit/test_z.py::test_it",))),
        (BAD, Part(1, ("tests/language/test_cases.py::test_it",))),
        (BAD, Part(2)),
        (BAD, Part(-9)),
        (BAD, Part(1)),
        (BAD, Part(3, WHOLE[1:2])),
    ],
    ids=["nothing ran", "many", "a unit", "the language", "broken off", "killed", "unknown", "an internal error"],
)
def test_what_no_busy_machine_explains_is_final(parts: tuple[Part, ...]) -> None:
    run = Run(*parts)
    assert run.status == 1
    assert run.repeated == []
    assert run.told.startswith("FAILED")


def test_the_parts_of_a_run_are_read_from_its_folder(tmp_path: Path) -> None:
    for name, status in (("0", "0\n"), ("1", "1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "status").write_text(status)
    kept = tmp_path / "1" / "cache" / "v" / "cache"
    kept.mkdir(parents=True)
    (kept / "lastfailed").write_text(json.dumps({WHOLE[0]: True}))
    (tmp_path / "2").mkdir()
    (tmp_path / "2.log").touch()
    assert parts_of(tmp_path) == [GOOD, BAD, Part(-1)]
