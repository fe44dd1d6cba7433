"""What a model is told stays small, and begins alike from turn to turn."""

from __future__ import annotations

import statistics

import pytest

from benchmarks.execution import conversation, program


@pytest.mark.parametrize("name", ["hello", "order_helper", "two_agents"])
def test_a_prompt_is_at_most_half_of_what_the_first_implementation_needs(name: str) -> None:
    told = conversation(program(name))
    assert statistics.fmean(map(len, told.ours)) <= 0.5 * statistics.fmean(told.upstream)
    assert told.cacheable >= 0.8
