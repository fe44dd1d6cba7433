"""Runs of all tests: what is left out, in which order files are taken, and what is repeated."""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sampling import RUNS, Sample, turn_of
from tests.selection import COMMITS, KEEPING, are_untouched
from tests.spread import LONG_S, WHOLE_PROCESSES, recorded, spread
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


ROOT = Path(__file__).parents[2]
FOLDERS = st.sampled_from(["tests/e2e/", "tests/contract/", "tests/unit/", "tests/language/"])
FILES = st.dictionaries(st.builds("{}{}".format, FOLDERS, st.integers(0, 99)), st.floats(0.1, 300), max_size=30)


@given(FILES)
def test_every_file_is_there_once_and_long_ones_come_first_among_their_kind(seconds: dict[str, float]) -> None:
    order = spread(seconds, seconds)
    assert sorted(order) == sorted(seconds)
    for waits in (True, False):
        kind = [seconds[file] for file in order if file.startswith(WHOLE_PROCESSES) is waits]
        assert kind == sorted(kind, reverse=True)


def test_what_waits_stands_between_what_computes_until_both_end() -> None:
    waiting, computing = [f"tests/e2e/{n}" for n in range(3)], [f"tests/unit/{n}" for n in range(6)]
    seconds = dict.fromkeys(waiting, 20.0) | dict.fromkeys(computing, 10.0)
    kinds = [file.startswith(WHOLE_PROCESSES) for file in spread(seconds, seconds)]
    assert [kinds[start : start + 3].count(True) for start in (0, 3, 6)] == [1, 1, 1]


def test_the_record_has_only_long_files_that_exist() -> None:
    assert [file for file in recorded() if not (ROOT / file).exists()] == []
    assert min(recorded().values()) >= LONG_S


GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose storage changed in the first commit, before the last ones."""
    subprocess.run((*GIT, "init", "--quiet"), cwd=tmp_path, check=True)
    for number in range(COMMITS + 1):
        change(tmp_path, f"{KEEPING[0]}/inbox.py" if not number else f"docs/{number}.md")
        commit(tmp_path)
    return tmp_path


def change(checkout: Path, file: str) -> None:
    (checkout / file).parent.mkdir(parents=True, exist_ok=True)
    (checkout / file).write_text("changed")


def commit(checkout: Path) -> None:
    subprocess.run((*GIT, "add", "--all"), cwd=checkout, check=True)
    subprocess.run((*GIT, "commit", "--quiet", "--message", "Go on"), cwd=checkout, check=True)


def test_what_changed_before_the_last_commits_is_untouched(checkout: Path) -> None:
    assert are_untouched(checkout)


@pytest.mark.parametrize("keeping", KEEPING)
def test_what_one_of_the_last_commits_changed_is_touched(checkout: Path, keeping: str) -> None:
    change(checkout, keeping if "." in keeping else f"{keeping}/new.py")
    assert not are_untouched(checkout)
    commit(checkout)
    assert not are_untouched(checkout)


def test_an_open_change_of_a_known_file_is_one(checkout: Path) -> None:
    (checkout / KEEPING[0] / "inbox.py").write_text("changed again")
    assert not are_untouched(checkout)


def test_where_no_history_tells_nothing_counts_as_untouched(tmp_path: Path) -> None:
    assert not are_untouched(tmp_path)
    subprocess.run((*GIT, "init", "--quiet"), cwd=tmp_path, check=True)
    change(tmp_path, "docs/1.md")
    commit(tmp_path)
    assert not are_untouched(tmp_path)


def test_what_keeps_data_is_where_it_is_said_to_be() -> None:
    assert [each for each in KEEPING if not (ROOT / each).exists()] == []


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.integers(RUNS, 400))
def test_over_all_turns_each_thing_is_tried_exactly_once(number: int) -> None:
    tried = Counter(thing for turn in range(RUNS) for thing in Sample(turn).of(range(number)))
    assert tried == Counter(range(number))


@given(st.integers(1, RUNS - 1), st.integers(0, RUNS - 1))
def test_of_few_things_one_is_tried_in_each_turn_and_each_in_some(number: int, turn: int) -> None:
    assert len(Sample(turn).of(range(number))) == 1
    assert {thing for each in range(RUNS) for thing in Sample(each).of(range(number))} == set(range(number))


def test_a_whole_sample_tries_everything() -> None:
    whole = Sample(None)
    assert whole.of(range(17)) == [*range(17)]
    assert whole.told() == ""


def test_what_was_left_out_is_told_with_what_repeats_the_part() -> None:
    sample = Sample(3)
    sample.of(range(40))
    assert sample.told().startswith("Sampled: 2 of 40 deaths")
    assert "TESTS_SAMPLE=3" in sample.told()


def committed(checkout: Path) -> None:
    """One more commit in a repository of its own."""
    as_somebody = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git = ("git", "-C", str(checkout), *as_somebody)
    subprocess.run((*git, "init", "--quiet"), check=True)
    subprocess.run((*git, "commit", "--quiet", "--allow-empty", "--message", "Go on"), check=True)


def test_commits_in_a_row_have_all_turns(tmp_path: Path) -> None:
    turns = []
    for _ in range(RUNS):
        committed(tmp_path)
        turns.append(turn_of(tmp_path, "", NOW))
    assert sorted(each for each in turns if each is not None) == [*range(RUNS)]


@pytest.mark.parametrize("history", ["none", "shallow"])
def test_days_in_a_row_have_all_turns_where_the_history_is_not_there(history: str, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    if history == "shallow":
        whole = tmp_path / "whole"
        whole.mkdir()
        committed(whole)
        committed(whole)
        subprocess.run(("git", "clone", "--quiet", "--depth", "1", whole.as_uri(), str(checkout)), check=True)
    turns = [turn_of(checkout, "", NOW + timedelta(days=day)) for day in range(RUNS)]
    assert sorted(each for each in turns if each is not None) == [*range(RUNS)]


def test_who_asks_for_a_turn_has_it(tmp_path: Path) -> None:
    assert [turn_of(tmp_path, asked, NOW) for asked in ("3", "all")] == [3, None]
