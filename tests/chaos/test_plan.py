"""A seed is all that it takes to play a run again."""

import pytest

from tests.chaos.plan import SHAPES, Shape, kinds_of, make_plan
from tests.chaos.stories import STORIES


@pytest.mark.parametrize("seed", range(20))
def test_equal_seeds_make_equal_plans(seed: int) -> None:
    assert make_plan(seed) == make_plan(seed)
    assert list(make_plan(seed).lines()) == list(make_plan(seed).lines())


def test_other_seeds_make_other_plans() -> None:
    assert len({make_plan(seed).rounds for seed in range(20)}) == 20


def test_a_fault_that_is_left_out_changes_nothing_else() -> None:
    whole, less = make_plan(7), make_plan(7, without=["kill gateway"])
    assert any(strike.kind == "kill gateway" for one in whole.rounds for strike in one.strikes)
    assert [one.deeds for one in whole.rounds] == [one.deeds for one in less.rounds]
    for before, after in zip(whole.rounds, less.rounds, strict=True):
        assert tuple(strike for strike in before.strikes if strike.kind != "kill gateway") == after.strikes


@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_fault_strikes_before_any_strikes_again(shape: Shape) -> None:
    kinds = kinds_of(shape)
    strikes = [strike.kind for one in make_plan(3, rounds=20, shape=shape).rounds for strike in one.strikes]
    assert set(strikes[: len(kinds)]) == set(kinds)


def test_every_program_and_place_comes_within_a_few_seeds() -> None:
    casts = [cast for seed in range(12) for cast in make_plan(seed).casts]
    assert {cast.story for cast in casts} == set(STORIES)


@pytest.mark.parametrize("seed", range(5))
def test_what_differs_by_what_else_is_said_is_said_alone(seed: int) -> None:
    for one in make_plan(seed, rounds=30).rounds:
        for cast in {deed.cast for deed in one.deeds}:
            deeds = [deed.said for deed in one.deeds if deed.cast == cast]
            assert len(deeds) == 1 or not any(said.alone for said in deeds)
