"""Every life of a sweep is lived in some turn, and consecutive commits have consecutive turns."""

from __future__ import annotations

import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sampling import RUNS, Sample, turn_of

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
    sample.of(range(20))
    assert sample.told().startswith("Sampled: 2 of 20 deaths")
    assert "PARLEY_TEST_SAMPLE=3" in sample.told()


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
