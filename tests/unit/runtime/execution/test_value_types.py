"""Which values a variable of a declared type may have."""

import re

import pytest

from runtime.language.value_types import coerced, fits


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
        ("a", "str | None", True),
        (None, "str | None", True),
        (3, "str | None", False),
        (3, "str|int", True),
        (3.5, "Union[str, int]", False),
        ([1, "a"], "list[int | str]", True),
        ([1.5], "list[int | str]", False),
        ({"a": 1}, "dict[str, int]", True),
        ({"a": "x"}, "dict[str, int]", False),
        ({"a": [1]}, "dict[str, list[int]]", True),
        ("x", "Optional[int]", False),
        ("red", 'Literal["red", "blue"]', True),
        ("green", 'Literal["red", "blue"]', False),
        (True, "Literal[1]", False),
        (3, "str | Customer", True),
        (3, "Any", True),
        ([1, "a"], "tuple[int, str]", True),
        ("x", '"int"', False),
        ("x", '"Customer"', True),
        (3, "a whole number", True),
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
        ("12", "int | None", 12),
        (12.0, "Optional[int]", 12),
        ("12", "int | str", "12"),
    ],
)
def test_what_says_the_same_becomes_a_value_of_the_type(value: object, type_name: str, expected: object) -> None:
    found = coerced(value, type_name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("many", "int | None"),
        (3.0, "int | str"),
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
    with pytest.raises(ValueError, match=re.escape(f"declared {type_name}")):
        coerced(value, type_name)
