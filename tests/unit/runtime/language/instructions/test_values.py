"""Steps that set and change variables, and values in words: what everybody reads one way is exact."""

from pathlib import Path
from typing import Any

import pytest

from runtime.language.instructions.conditions.grammar import grammar_of
from runtime.language.instructions.evaluation import LenientNames
from runtime.language.instructions.steps.setting import settings_of
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


READINGS = {
    "$x = 5": ["$x = 5"],
    "$x:list[int] = [1, 2]": ["$x:list[int] = [1, 2]"],
    "Set the variable $state to “open”": ["$state = “open”"],
    "Set both $a and $b to 0": ["$a, $b = 0"],
    "Set $n back to 10": ["$n = 10"],
    "Take $fee off $balance": ["$balance -= $fee"],
    "Increase $price to 10": ["$price = 10"],
    'Add "a" and "b" to $names': ["$names += ['a', 'b']"],
    "Create an empty list called $names": ["$names = []"],
    "Store $z as 3": ["$z = 3"],
    "Copy $a to $b": ["$b = $a"],
    "Put the result of Find($q) in $found": ["$found = the result of Find($q)"],
    "Put 3 in $x": ["$x = 3", "$x += 3"],
    "Add 2 and 3 to $x": ["$x += [2, 3]", "$x += 2 + 3"],
    "Set $mood to how they feel": ["$mood = how they feel"],
    "Set $priority by what they say": ["$priority = Set $priority by what they say"],
    'Store $report as "r.txt"': [],
    'Assign $task to "Bob"': [],
    "Take $item from $items": [],
    "Change $mood to how they feel": [],
    "Let $helper know that it is late": [],
    "$x is 5": [],
    "Say that $x becomes 5": [],
    "Ask for $x": [],
}
UNSURE = {
    'Set $x to "low" otherwise': "when it is set is part of the sentence",
    "Set $paid to true once they have paid": "when it is set is part of the sentence",
    "Set $a to what they say, and $b to 2": "it sets several variables",
    "Set $a to 5 and set b to 6": "it sets several variables",
    "Set $a to 5 and b to 6": "it sets several variables",
    "state = 3": "a variable begins with $",
}


def test_each_step_has_all_its_meanings_and_no_other() -> None:
    assert {said: [one.written for one in settings_of(said)] for said in READINGS} == READINGS


def test_a_value_in_words_that_may_be_more_says_why() -> None:
    assert {said: settings_of(said)[0].unsure for said in UNSURE} == UNSURE


def test_a_text_of_two_values_without_brackets_is_no_list_for_one_variable() -> None:
    assert [settings_of(said)[0].in_words for said in ("Set $a to $b, $c", "Set $a, $d to $b, $c")] == [True, False]


def test_two_rules_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.grammar"
    file.write_text("a: 'x' -> same\nb: 'y' -> same\na: 'z' -> same\n", encoding="utf-8")
    with pytest.raises(ValueError, match="two rules a"):
        grammar_of(file)
