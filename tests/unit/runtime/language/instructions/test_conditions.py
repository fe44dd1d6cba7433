"""Conditions in words: what everybody reads one way is exact, what a model has to judge stays prose."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime.language.instructions.conditions.meanings import MEETING_ACTIVE
from runtime.language.instructions.conditions.reading import condition_readings, in_symbols, read_condition
from runtime.language.instructions.evaluation import LenientNames, NotComputable

NAMES = {"n": 4, "m": 7, "word": "tea", "items": ["tea", "jam"], "empty": [], "order": {"total": 9}, "unset": None}


def holds(text: str, **names: Any) -> bool:
    found = read_condition(text)
    assert found is not None, f"{text!r} is prose"
    return bool(found.evaluate(LenientNames({**NAMES, **names})))


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
        ("$n is greater than zero", "$n is greater than twelve"),
        ("$n is four", "$n is not four"),
        ("$n is three or four", "$n is not three, four or five"),
        ("$n equals four", "$n is equal to three"),
        ("$n is three or more", "$n is between five and ten"),
        ("$n exceeds 3", "$n exceeds 4"),
        ("$n reaches 4", "$n reaches 5"),
        ("$order.total is over 8", "$order.total is under 9"),
        ("the sum of $n and $m is over 10", "the sum of $n and $m is 4"),
        ("the largest of 3, $n and $m is 7", "the smaller of $n and $m is 7"),
        ("the average of $n and $m is 5.5", "the average of $n, $m and 10 is over $m"),
        ("$n is between 1 and 4", "$n is between 5 and 9"),
        ("$n is not between 5 and $m", "$n is not between 1 and $m"),
        ("$n is even", "$m is even"),
        ("$m is odd", "$n is odd"),
        ("$n is divisible by 2", "$m is divisible by 2"),
        ("$n is positive", "$n is negative"),
        ("$empty is empty", "$items is empty"),
        ("$items is not empty", "$empty is not empty"),
        ("$items has 2 items", "$items has 3 items"),
        ("$items has fewer than 3 items", "$items has no items"),
        ("$items has any entries", "$empty has any items"),
        ("$empty doesn't have any items", "$items does not have 2 elements"),
        ("$items has one or more items and $n is 4", "$empty has one or more items"),
        ("there are 2 or more things in $items", "there are more than 2 entries in $items"),
        ("there are no items in $empty", "there are no items in $items"),
        ("there are 2 items in $items", "there is 1 item in $items"),
        ("$word is longer than 2 characters", "$word is longer than 3 characters"),
        ("$word is at most 3 characters long", "$word has more than 3 characters"),
        ("we know the table ($n is 4)", "we don't know the table ($n is None)"),
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
        "$n is either small or large",
        "$n is between 1 and 10 inclusive",
        "$n is given by the user",
        "$n exists in the database",
        "$n is set to 3",
        "$n is known to be wrong",
        "$items is empty-handed",
        "$n is no longer needed",
        "$n is no fun",
        "$word is nothing special",
        "$word is one of tea or jam",
        "$n is in Berlin",
        "$n and $m are equal",
        "$n == 3 or 4",
        "$n is 4 and 5",
        "$n is 3, 4",
        "there is no such order",
        "the user said $word",
        "$n > 3 dollars",
        "$n >= 3 and $word is angry",
        "$n has changed",
        "$items has 3 apples",
        "there are 3 apples in $items",
        "$word is longer than 3 words",
        "$items has 3 or 4 items",
        "$items has items",
        "they are late or ill ($n is 4)",
        "they did not come ($n)",
        "it is not so that ($n is 4)",
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
        found.evaluate(LenientNames(NAMES))


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("$a or $b is 3", ["$a == 3 or $b == 3", "$a or ($b == 3)"]),
        ("$a and $b is at least 3", ["$a >= 3 and $b >= 3", "$a and ($b >= 3)"]),
        ("$n is $a or $b", ["($n == $a) or $b", "$n in [$a, $b]"]),
        ("$n is not $a or $b", ["($n != $a) or $b", "$n not in [$a, $b]"]),
        ("$n equals $a or $b", ["($n == $a) or $b", "$n in [$a, $b]"]),
        ("$n is less than $a or $b", ["($n < $a) or $b", "$n < $a or $n < $b"]),
        ("$n > $a or $b", ["($n > $a) or $b", "$n > $a or $n > $b"]),
        ("$n == $a or $b", ["($n == $a) or $b", "$n == $a or $n == $b"]),
        ("$a or $b is missing", ["$a == None or $b == None", "$a or ($b == None)"]),
        ("$items contains $n and $a", ["($n in $items) and $a", "$n in $items and $a in $items"]),
        ("$n is 3 and not $a", ["$n == 3 and $n != $a", "$n == 3 and (not $a)"]),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_exact_and_each_way_can_be_written(text: str, readings: list[str]) -> None:
    assert sorted(in_symbols(one) for one in condition_readings(text)) == sorted(readings)
    assert read_condition(text) is None
    for written in readings:
        assert [in_symbols(one) for one in condition_readings(written)] == [written]


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("$limit > 1,500", "$limit > 1500"),
        ("$amount is at least 10,000, or $n is 1,250.5", "$amount >= 10000 or $n == 1250.5"),
        ("$guess is $n + 1 or $n - 1", "$guess in [$n + 1, $n - 1]"),
        ('$name is not empty and not "x"', "(not not $name) and $name != 'x'"),
        ("$x is 3 and not 4", "$x == 3 and $x != 4"),
        ('$a is "yes" or yes', "$a in ['yes', True]"),
        ("both $a and $b are given", "$a != None and $b != None"),
        ("$a or $b are empty", "(not $a) or (not $b)"),
        ("neither $a nor $b is given", "$a == None and $b == None"),
        ('$items contains "a" and "b"', "'a' in $items and 'b' in $items"),
        ("not $done and $n is 4", "(not $done) and $n == 4"),
        ("$n is more than 3 but less than 10", "$n > 3 and $n < 10"),
        ("$n is 150 to 175", "150 <= $n <= 175"),
        ("$n is $a or $b is 3", "$n == $a or $b == 3"),
        ("$n is 5% of $m", "$n == $m * 5 / 100"),
        ("the number of items in $x is more than 3", "len($x) > 3"),
        ('$score < 50 or $level is "x" and $score < 70', "$score < 50 or ($level == 'x' and $score < 70)"),
    ],
)
def test_a_condition_means_what_its_words_say_together(text: str, symbols: str) -> None:
    assert [in_symbols(one) for one in condition_readings(text)] == [symbols]


@pytest.mark.parametrize("value", [[], "", None, 0, {}])
def test_there_are_none_where_a_list_is_empty_or_a_number_is_zero(value: object) -> None:
    assert holds("there are no $things", things=value)
    assert not holds("there are $things", things=value)


def test_there_is_a_value_where_it_is_zero() -> None:
    assert not holds("there is no $price", price=0)
    assert holds("there is no $price", price="")


TESTS: list[tuple[str, Callable[[int], bool]]] = [
    ("is 3", lambda v: v == 3),
    ("is not 2", lambda v: v != 2),
    ("is 1 or 4", lambda v: v in (1, 4)),
    ("is neither 2 nor 5", lambda v: v not in (2, 5)),
    ("is at least 3", lambda v: v >= 3),
    ("is more than 1 and less than 5", lambda v: 1 < v < 5),
    ("is not between 2 and 4", lambda v: not 2 <= v <= 4),
    ("is even", lambda v: v % 2 == 0),
    ("is odd or 4 or more", lambda v: v % 2 == 1 or v >= 4),
    ("is 2 or less", lambda v: v <= 2),
    ("exceeds 3", lambda v: v > 3),
    ("> 2", lambda v: v > 2),
    ("== 3", lambda v: v == 3),
    ("is less than 1,000", lambda v: v < 1000),
]
JOINTS: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda one, two: one and two,
    "or": lambda one, two: one or two,
    ", and": lambda one, two: one and two,
    "but": lambda one, two: one and two,
}


def built(rng: random.Random) -> tuple[str, Callable[[dict[str, int]], bool]]:
    """A condition and what its author means by it."""
    names = rng.sample(["a", "b", "c"], 3)
    (first, one), (second, two) = rng.choice(TESTS), rng.choice(TESTS)
    joint, join = rng.choice(list(JOINTS.items()))
    kind = rng.randrange(6)
    if kind == 0:
        return f"${names[0]} {first} {joint} ${names[1]} {second}", lambda v: join(one(v[names[0]]), two(v[names[1]]))
    if kind == 1:
        return f"${names[0]} {first} {joint} {second}", lambda v: join(one(v[names[0]]), two(v[names[0]]))
    if kind == 2:  # each of them
        word, both = rng.choice([("and", all), ("or", any)])
        return f"${names[0]} {word} ${names[1]} {first}", lambda v: both([one(v[names[0]]), one(v[names[1]])])
    if kind == 3:  # a value alone, and a test
        return f"${names[0]} {joint} ${names[1]} {first}", lambda v: join(bool(v[names[0]]), one(v[names[1]]))
    if kind == 4:
        return f"${names[0]} is ${names[1]} or ${names[2]}", lambda v: v[names[0]] in (v[names[1]], v[names[2]])
    return f"not ${names[0]} {first} {joint} ${names[1]} {second}", lambda v: join(
        not one(v[names[0]]), two(v[names[1]])
    )


def test_no_condition_ever_means_something_else_than_its_author_says() -> None:
    """Built from subjects, tests and joints, each has its own meaning or none."""
    exact = 0
    for seed in range(1_500):
        text, meant = built(rng := random.Random(seed))
        found = read_condition(text)
        if found is None:
            continue
        exact += 1
        for _ in range(6):
            values = {name: rng.randrange(6) for name in "abc"}
            assert bool(found.evaluate(LenientNames(values))) is bool(meant(values)), (text, values)
    assert exact > 600


@pytest.mark.parametrize(
    "size", ["the sum of", "the largest of", "the average of", "half of", "the length of", "10% of"]
)
def test_the_size_of_the_first_of_several_is_never_compared_beside_the_others_themselves(size: str) -> None:
    for said in (f"{size} $n and $m is over 5", f"{size} $n, $m and $k is over 5", f"{size} $n or $m is 3"):
        assert all("$m >" not in in_symbols(one) and "$m ==" not in in_symbols(one) for one in condition_readings(said))
