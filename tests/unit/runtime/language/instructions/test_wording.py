"""Conditions in words: what everybody reads one way is exact, what a model has to judge stays prose."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.language.instructions.evaluation import Lenient, NotComputable
from runtime.language.instructions.expression import read_condition
from runtime.language.instructions.wording import MEETING_ACTIVE

NAMES = {"n": 4, "m": 7, "word": "tea", "items": ["tea", "jam"], "empty": [], "order": {"total": 9}, "unset": None}


def holds(text: str, **names: Any) -> bool:
    found = read_condition(text)
    assert found is not None, f"{text!r} is prose"
    return bool(found.evaluate(Lenient({**NAMES, **names})))


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("$n is at least 4", "$n is at least 5"),
        ("$n is at most 4", "$n is at most 3"),
        ("$n is no more than 4", "$n is no less than 5"),
        ("$n is greater than 3", "$n is greater than 4"),
        ("$n is less than $m", "$m is less than $n"),
        ("$n is greater than or equal to 4", "$n is less than or equal to 3"),
        ("$n is not greater than 4", "$n is not less than 5"),
        ("$n is above 3", "$n is below 4"),
        ("$n exceeds 3", "$n exceeds 4"),
        ("$n reaches 4", "$n reaches 5"),
        ("$order.total is over 8", "$order.total is under 9"),
        ("$n is between 1 and 4", "$n is between 5 and 9"),
        ("$n is not between 5 and $m", "$n is not between 1 and $m"),
        ("$n is even", "$m is even"),
        ("$m is odd", "$n is odd"),
        ("$n is divisible by 2", "$m is divisible by 2"),
        ("$n is positive", "$n is negative"),
        ("$empty is empty", "$items is empty"),
        ("$items is not empty", "$empty is not empty"),
        ("$n is given", "$unset is given"),
        ("$never is not given", "$n is not given"),
        ("$never is missing", "$n is missing"),
        ("$n exists", "$never exists"),
        ("there is no $unset", "there is no $n"),
        ("$n and $m are given", "$n and $never are given"),
        ("$never or $n are given", "$never or $unset are given"),
        ('$items contains "tea"', '$items contains "milk"'),
        ("$items contains $word", "$items does not contain $word"),
        ('$word is one of ["tea", "jam"]', '$word is one of ["jam"]'),
        ('$word is one of "tea", "jam"', '$word is one of "jam", "milk"'),
        ('$word is "milk" or "tea"', '$word is not "milk" or "tea"'),
        ("$n is 3, 4 or 5", "$n is 5 or 6"),
        ("$n is 3 or $m is 7", "$n is 3 or $m is 8"),
        ("$word is in $items", "$word is not in $items"),
        ('$word is "tea"', '$word is "at least 3"'),
        ('$word is not "jam"', '$word is not "tea"'),
        ('$word becomes "tea"', '$word becomes "jam"'),
        ("$n equals 4", "$n is not 4"),
        ("$n is $n", "$n is $m"),
        ("$yes is true", "$yes is false"),
        ("$yes AND NOT $no", "$no OR NOT $yes"),
        ("$unset is none", "$n is none"),
        ("len($items) is at least 2", "len($items) is more than 2"),
        ("$n is 4 and $items is not empty", "$n is 4 and $items is empty"),
        ("($n > 3) && ($m < 8)", "$n > 3 && $m < 7"),
        ("$n === 4 || $m !== 7", "!$n || $n !== 4"),
        ("the $n is 4", "the value of $n is 5"),
        ("$n = 4", "$n = 5"),
        ('$n = 4 and $word = "tea"', '$n = 4 and $word = "jam"'),
        ("$n is 4 or more", "$n is 5 or more"),
        ("$n is 4 or fewer", "$n is 3 or less"),
        ("$n isn't 5", "$n isn\u2019t 4"),
        ("$n doesn't equal 5", "$n doesn't equal 4"),
        ('$word is neither "jam" nor "milk"', '$word is neither "jam" nor "tea"'),
        ('$word starts with "t"', '$word does not start with "t"'),
        ('$word ends with "ea"', '$unset ends with "e"'),
        ('"tea" is in $items', '"milk" is in $items'),
        ('"milk" is not in $items', '"tea" is not in $items'),
        ("$n is a multiple of 2", "$m is not a multiple of 3 and $n is 5"),
        ("$n is the same as $n", "$n is the same as $m"),
        ("$n differs from $m", "$n is different from $n"),
        ("$word is \u201ctea\u201d", "$word is \u201cjam\u201d or \u2018milk\u2019"),
    ],
)
def test_words_that_everybody_reads_one_way_are_exact(text: str, opposite: str) -> None:
    assert holds(text, yes=True, no=False)
    assert not holds(opposite, yes=True, no=False)


@pytest.mark.parametrize(
    "text",
    ["the meeting is active", "This meeting is still going on", "the meeting is open and $n is 4", "in the meeting"],
)
def test_whether_the_meeting_goes_on_is_exact(text: str) -> None:
    assert holds(text, **{MEETING_ACTIVE: True})
    assert not holds(text, **{MEETING_ACTIVE: False})
    assert holds("the meeting has ended", **{MEETING_ACTIVE: False})


@pytest.mark.parametrize(
    "text",
    [
        "$mood is angry",
        "$status becomes shipped",
        "$email is valid",
        "$n is prime",
        "$n is above average",
        "$n is greater than zero",
        "$n is more than 3 and less than 5",
        "$n is either small or large",
        "$n is between 1 and 10 inclusive",
        "$n is given by the user",
        "$n exists in the database",
        "$n is set to 3",
        "$n is known to be wrong",
        "$items is empty-handed",
        "$n is even or negative",
        "$n is no longer needed",
        "$n is no fun",
        "$word is nothing special",
        "$word is one of tea or jam",
        "$n is in Berlin",
        "$n and $m are equal",
        "$n and $m are $k",
        "$n == 3 or 4",
        "$n is 4 and 5",
        "$n is 3, 4",
        "$n is 1,000",
        "there is no such order",
        "the user said $word",
        "$n > 3 dollars",
        "$n >= 3 and $word is angry",
        "the length of $items is at least 2",
        "$n has changed",
    ],
)
def test_what_needs_judgement_or_can_be_read_in_two_ways_stays_prose(text: str) -> None:
    assert read_condition(text) is None


def test_a_name_without_a_dollar_is_never_a_variable() -> None:
    assert read_condition("n is at least 4") is None
    assert read_condition("word == items") is None


def test_a_comparison_that_does_not_fit_its_values_has_no_value() -> None:
    found = read_condition("$items is at least 4")
    assert found is not None
    with pytest.raises(NotComputable):
        found.evaluate(Lenient(NAMES))
