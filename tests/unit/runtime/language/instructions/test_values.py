"""Values in words: what everybody reads one way is exact, and calls in it are made by the runtime."""

from typing import Any

import pytest

from runtime.language.instructions.evaluation import LenientNames
from runtime.language.instructions.values import read_value, result_of

NAMES = {"n": 4, "order": {"total": 9}, "unset": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$n + 1", 5),
        ("an empty list", []),
        ("empty dictionary", {}),
        ("an empty string", ""),
        ("the value of $order.total", 9),
        ('"big" if $n is at least 5, otherwise "small"', "small"),
        ("true if $n > 3, else false", True),
        ("$n > 5 or $n < 5", True),
        ("$n if $unset is given, otherwise nothing", None),
        ("$n when $n is 4, otherwise return the value of $order.total", 4),
        ("\u201cIt is {$n}\u201d", "It is 4"),
        ("the $n", 4),
        ("030-555 123", "030-555 123"),
        ("555-1234", "555-1234"),
        ("+49 (30) 1234", "+49 (30) 1234"),
    ],
)
def test_value_in_words_with_one_reading_is_exact(text: str, value: Any) -> None:
    found = read_value(text)
    assert found is not None, f"{text!r} is prose"
    assert found.evaluate(LenientNames(NAMES)) == value


@pytest.mark.parametrize(
    "text",
    [
        "the result",
        "an empty room",
        "the value of the house",
        "3 if it rains, otherwise 4",
        "nothing",
        "the new $n",
        "$n or 5",
        '$unset or "x"',
        "$n or $unset",
    ],
)
def test_what_a_model_has_to_judge_stays_prose(text: str) -> None:
    assert read_value(text) is None


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("the result of Find($q)", "Find($q)"),
        ("the results from calling Shop.Find($q, 3)", "Shop.Find($q, 3)"),
        ("what Find($q) returns", "Find($q)"),
        ("the result of Find($q) and Search($q)", "the result of Find($q) and Search($q)"),
        ("the result of the vote (today)", "the result of the vote (today)"),
    ],
)
def test_result_of_a_call_is_the_call(text: str, call: str) -> None:
    assert result_of(text) == call
