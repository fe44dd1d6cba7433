"""Thumbs as ratings."""

from __future__ import annotations

import pytest

from adapters.decoding import rating_of_all, rating_of_one


@pytest.mark.parametrize("mark", ["👍", "👍🏽", ":+1:", "thumbsup", "+1::skin-tone-3"])
def test_a_thumb_of_any_colour_and_name_is_one(mark: str) -> None:
    assert rating_of_one(mark, there=True) == "up"
    assert rating_of_one(mark, there=False) == "not_up"
    assert rating_of_all([mark]) == "up"


@pytest.mark.parametrize("mark", ["👎", ":-1:", "thumbsdown", "👎🏿"])
def test_a_thumb_down_is_one(mark: str) -> None:
    assert rating_of_one(mark, there=True) == "down"
    assert rating_of_one(mark, there=False) == "not_down"


@pytest.mark.parametrize("mark", ["❤️", ":eyes:", "", "custom"])
def test_other_marks_rate_nothing(mark: str) -> None:
    assert rating_of_one(mark, there=True) is None
    assert rating_of_one(mark, there=False) is None


def test_all_marks_together_are_one_rating() -> None:
    assert rating_of_all(["❤️", "👎"]) == "down"
    assert rating_of_all(["👎", "👍"]) == "up"
    assert rating_of_all(["❤️"]) == rating_of_all([]) == "none"
