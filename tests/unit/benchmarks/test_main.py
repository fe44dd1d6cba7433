"""What `make bench` measures, and what it says of it beforehand."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import MOST_S, PARTS, plan, runnable, wanted


def test_every_benchmark_is_a_part_with_its_time() -> None:
    assert set(PARTS) == runnable()


def test_without_more_words_it_ends_in_ten_minutes() -> None:
    assert sum(PARTS[name].seconds for name in wanted([])) <= MOST_S
    assert [name for name in wanted(["--full"]) if name not in wanted([])] == ["cluster", "scale"]


def test_it_says_beforehand_how_long_each_part_takes_and_what_it_leaves_out() -> None:
    said = plan(["inbound", "routing"])
    assert said.splitlines()[1].split() == ["inbound", str(PARTS["inbound"].seconds), "s"]
    assert "Left out: cluster, scale." in said
    assert "Left out" not in plan(wanted(["--full"]))


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(SystemExit, match=r"no benchmark nothing; there are: bus, cluster, "):
        wanted(["nothing"])
