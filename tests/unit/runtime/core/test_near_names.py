"""How many mistakes there are between two words."""

import pytest

from runtime.core.near_names import mistakes_between


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        ("peanut", "peanut", 0),
        ("penut", "peanut", 1),
        ("paenut", "peanut", 1),
        ("pxxnut", "peanut", 2),
        ("tea", "sea", 1),
    ],
)
def test_letters_put_in_left_out_replaced_and_exchanged_are_counted(one: str, other: str, far: int) -> None:
    assert mistakes_between(one, other, 2) == mistakes_between(other, one, 2) == far


@pytest.mark.parametrize(
    ("one", "other", "most", "mistakes"),
    [
        ("abcd", "abcd", 0, 0),
        ("abcd", "abdc", 1, 1),
        ("abcd", "acd", 1, 1),
        ("abcd", "axcy", 2, 2),
        ("a", "xyz", 1, None),
    ],
)
def test_mistakes_are_counted(one: str, other: str, most: int, mistakes: int | None) -> None:
    assert mistakes_between(one, other, most) == mistakes
