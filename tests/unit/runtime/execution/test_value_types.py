"""Which values a variable of a declared type may have."""

from __future__ import annotations

import pytest

from runtime.execution.value_types import coerced, fits


@pytest.mark.parametrize(
    ("value", "type_name", "expected"),
    [
        (1, "int", True),
        (True, "int", False),
        (1, "float", True),
        ("1", "int", False),
        (None, "int", True),
        ([1], "list[int]", True),
        (["1"], "list[int]", False),
        ([[1]], "list[list[int]]", True),
        ({}, "list", False),
        (object(), "Customer", True),
        (True, "bool", True),
    ],
)
def test_a_value_fits_its_declared_type(value: object, type_name: str, expected: bool) -> None:
    assert fits(value, type_name) is expected


@pytest.mark.parametrize(
    ("value", "type_name", "expected"),
    [
        ("12", "int", 12),
        (" -7 ", "int", -7),
        (12.0, "int", 12),
        (3, "float", 3.0),
        ("2.50", "float", 2.5),
        ("True", "bool", True),
        (12345, "str", "12345"),
        ((1, 2), "list[int]", [1, 2]),
        ("x", "Customer", "x"),
        (None, "int", None),
    ],
)
def test_what_says_the_same_becomes_a_value_of_the_type(value: object, type_name: str, expected: object) -> None:
    found = coerced(value, type_name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("many", "int"),
        ("012", "int"),
        ("1e3", "int"),
        (1.5, "int"),
        (True, "int"),
        (float("inf"), "int"),
        ("nan", "float"),
        ("yes", "bool"),
        (1, "bool"),
        (True, "str"),
        ("a, b", "list"),
        ([1], "dict"),
    ],
)
def test_nothing_is_guessed_and_nothing_lost(value: object, type_name: str) -> None:
    with pytest.raises(ValueError, match=f"declared {type_name}"):
        coerced(value, type_name)
