"""Strangers' texts, made plain."""

from __future__ import annotations

import pytest

from runtime.core.plain_text import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("20", 20),
        ("21", None),
        ("٣", 3),
        ("³", None),
        ("-1", None),
        ("", None),
        ("1e3", None),
    ],
)
def test_a_number_in_digits_is_read_up_to_its_bound(text: str, number: int | None) -> None:
    assert whole_number(text, 20) == number


def test_thousands_of_digits_are_no_number() -> None:
    assert whole_number("9" * 100_000) is None
    assert whole_number("0" * 100_000 + "1") == 1
