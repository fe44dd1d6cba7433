"""Exact expressions: what is read as one, what it comes to, and what it may not cost."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.evaluation import MAX_SIZE, LenientNames, NotComputable, size_of
from runtime.language.instructions.expression import read_expression

ORDER = {"total": 40, "items": ["tea", "jam"], "by": {"name": "Ada"}}


def value(text: str, /, **names: Any) -> Any:
    found = read_expression(text)
    assert found is not None, f"{text!r} is prose"
    return found.evaluate(names)


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [
        ("3", 3),
        ('"a word"', "a word"),
        ("'it'", "it"),
        ("true", True),
        ("no", False),
        ("null", None),
        ("$n", 3),
        ("$n + 1", 4),
        ("-$n * 2", -6),
        ("$n / 2", 1.5),
        ("($n + 1) % 2 == 0", True),
        ("$order.total", 40),
        ("$order.by.name", "Ada"),
        ('$order["items"][0]', "tea"),
        ("$order.items[-1]", "jam"),
        ("$order.items[0:1]", ["tea"]),
        ('"Total: " + $n', "Total: 3"),
        ('"{$name} owes {$order.total * $n} {euros}"', "Ada owes 120 {euros}"),
        ("'{$n:.2f} of {$order[\"total\"]}'", "3.00 of 40"),
        ('f"{$n}, {{$n}}"', "3, {$n}"),
        ('"{n} {$} $n {$5}"', "{n} {$} $n {$5}"),
        ('$name + "!"', "Ada!"),
        ("1 < $n <= 3", True),
        ('$name in ["Ada", "Bo"]', True),
        ('"tea" not in $order.items', False),
        ("$n > 2 and not $nothing", True),
        ("$nothing or $name", "Ada"),
        ("$n if $n > 5 else 5", 5),
        ("[$n, 4]", [3, 4]),
        ('{"n": $n}', {"n": 3}),
        ('{**$order, "total": 1}', {**ORDER, "total": 1}),
        ("[item.upper() for item in $order.items if item]", ["TEA", "JAM"]),
        ("[[a, b] for a in [1, 2] for b in [a]]", [[1, 1], [2, 2]]),
        ("{item: len(item) for item in $order.items}", {"tea": 3, "jam": 3}),
        ("sum($n for i in [1, 2])", 6),
        ("len($order.items)", 2),
        ("sorted([3, 1])", [1, 3]),
        ("round(2.456, 1)", 2.5),
        ('", ".join($order.items)', "tea, jam"),
        ("$name.lower()", "ada"),
        ("(1, 2)", [1, 2]),
        ("$order.items()", [["total", 40], ["items", ["tea", "jam"]], ["by", {"name": "Ada"}]]),
        ('$name is "Ada"', True),
        ('"$n costs {x}"', "$n costs {x}"),
    ],
)
def test_what_is_exact_is_computed(text: str, comes_to: Any) -> None:
    assert value(text, n=3, name="Ada", order=ORDER, nothing=None) == comes_to


@pytest.mark.parametrize(
    "text",
    [
        "",
        "angry",
        "total",
        "$n miles",
        "the sum of $a and $b",
        "{words}",
        "$",
        "$5",
        "5%",
        "12:30",
        "2026-10-12",
        "3/4/2026",
        "$a; $b",
        "Get(it)",
        "[tea, jam]",
        "$x.y z",
        "*$x",
        "$x := 3",
        "await Get(1)",
        "lambda: 1",
        "...",
        "b'a'",
        "1j",
        "~$n",
        "1 << 9",
        "$n & 1",
        "$x.__class__",
        "$x.__class__.__mro__",
        "$x._hidden",
        "().__class__",
        "$x.mro()",
        "$x.format(1)",
        "$x.pop()",
        "$x.center(9)",
        "len",
        "“quoted”",
        "(",
        "$x)(",
        "nan",
    ],
)
def test_what_is_not_surely_exact_is_prose(text: str) -> None:
    assert read_expression(text) is None


def test_a_call_is_exact_where_its_arguments_are_and_says_what_it_needs() -> None:
    found = read_expression('Pay($n + 1, to=Bank.Find("x"))')
    assert found is not None
    assert (found.names, found.called) == (frozenset({"n"}), frozenset({"Pay", "Bank.Find"}))
    results = dict.fromkeys(found.calls, 7)
    assert found.evaluate({"n": 1}, results) == 7
    with pytest.raises(NotComputable, match="Pay was not called"):
        found.evaluate({"n": 1}, {call: 1 for call in found.calls if call.keywords == []})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("$missing + 1", "missing is not set"),
        ("$order.price", "'price'"),
        ("$order.items[9]", "out of range"),
        ("$n.name", "int has no field"),
        ("1 / 0", "division"),
        ('$n + ["a"]', "unsupported"),
        ('int("a lot")', "invalid literal"),
        ("max()", "at least 1 argument"),
        ("(-8) ** 0.5", "not a real number"),
        ("sum([[1], [2]])", "only numbers"),
        ('"%s" % $n', "not supported"),
    ],
)
def test_what_has_no_value_says_why(text: str, says: str) -> None:
    with pytest.raises(NotComputable, match=says):
        value(text, n=3, order=ORDER)


BIG = "a" * MAX_SIZE

EXPENSIVE = [
    "10 ** 10 ** 10",
    "1000000 ** 1000",
    "$number * $number * $number",
    '"a" * 10000000',
    "[0] * 10000000",
    "[[0] * 1000] * 1000000",
    "str([[0] * 1000] * 1000000)",
    "[$text] * 3",
    "[$text, $text]",
    "$text + $text",
    '"".join([$text, $text])',
    '",".join($list)',
    '$text.replace("a", "bbbbbbbbbb")',
    "range(10 ** 9)",
    "list(range(1000000))",
    "[a for a in range(1000000)]",
    "[a + b + c for a in $few for b in $few for c in $few]",
    "[[[a + b + c for a in $few] for b in $few] for c in $few]",
    "[1 for a in $few if [1 for b in $few if [1 for c in $few]]]",
    "round(10, -10 ** 9)",
    'int("9" * 5000)',
    '[f"{a:999999999}" for a in [1]]',
    '[f"{a:{b}}" for a in [1] for b in [">99999999"]]',
    "sum([[1] * 1000] * 1000, [])",
]


@pytest.mark.parametrize("text", EXPENSIVE)
def test_an_expression_cannot_make_what_is_too_large(text: str) -> None:
    began_s = time.process_time()
    with pytest.raises(NotComputable):
        value(text, text=BIG, list=[BIG] * 2, few=list(range(300)), number=2**9_000)
    assert time.process_time() - began_s < 5.0


@pytest.mark.parametrize("text", ["(" * 500 + "1" + ")" * 500, "not " * 400 + "1", "-" * 1900 + "1", "1" + "+1" * 900])
def test_deep_nesting_is_prose(text: str) -> None:
    assert read_expression(text) is None
    assert read_condition(text) is None


@given(st.text(alphabet="$xy.[](){}'\"+-*/%<>=!, 019afnot:|&~@#\n", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_prose_or_has_a_bounded_value_or_none(text: str) -> None:
    for read in (read_expression, read_condition):
        found = read(text)
        if found is None:
            continue
        try:
            came_to = found.evaluate({"x": [1, {"y": "z"}], "y": {"x": 2}})
        except NotComputable:
            continue
        assert size_of(came_to) <= MAX_SIZE


def test_a_value_that_is_made_shares_nothing_with_the_variables_it_was_made_of() -> None:
    items = [[1], [2]]
    made = value("$items + [[3]]", items=items)
    made[0].append(9)
    assert items == [[1], [2]]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("$nobody", False),
        ("not $nobody", True),
        ("$nobody is not given", True),
        ("$nobody.name is not given", True),
        ("$order.price is given", False),
        ('$order["price"] is empty', True),
        ("$nobody > 3", False),
        ("$age is at least 18", True),
        ("$age is 25", True),
        ('$age == "25"', True),
        ("$said is yes", True),
        ("$said is no", False),
        ("$said is not true", False),
        ('$agreed is "no"', False),
        ('$agreed is "yes"', True),
        ("$age is yes", False),
    ],
)
def test_in_conditions_a_missing_value_is_none_and_texts_of_digits_and_yes_are_what_they_say(
    text: str, holds: bool
) -> None:
    found = read_condition(text)
    assert found is not None
    names = {"order": ORDER, "age": "25", "said": "Yes", "agreed": True}
    assert bool(found.evaluate(LenientNames(names))) is holds
