"""What is a placeholder of a description, and what is only braces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.language.placeholders import placeholders, plain_names


def found(text: str) -> list[str]:
    return [placeholder.code or f"? {placeholder.said}" for placeholder in placeholders(text)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("About {$x}", ["x"]),
        ("About {x} and {y}", ["x", "y"]),
        ("{ $order.total }", ["order.total"]),
        ("{$order.total:>9}", ["f'{order.total:>9}'"]),
        ("{date.today():%Y}", ["f'{date.today():%Y}'"]),
        ("{$x!r}", ["f'{x!r}'"]),
        ("{$x:.2f} and {$at:%d.%m. at %H:%M}", ["f'{x:.2f}'", "f'{at:%d.%m. at %H:%M}'"]),
        ("{$order['total']}", ["order['total']"]),
        ("{$items[0]}", ["items[0]"]),
        ("{2 + 3}", ["2 + 3"]),
        ("{len($items) + 1}", ["len(items) + 1"]),
        ("{$a if $b else $c}", ["a if b else c"]),
        ('{Loadfile("rules.md", inline=True, silent=True)}', ['Loadfile("rules.md", inline=True, silent=True)']),
        ('{LoadFile("a}b.md")}', ['LoadFile("a}b.md")']),
        ("{FormatRules($kind)}", ["FormatRules(kind)"]),
        ("{timestamp.strftime('%Y')}", ["timestamp.strftime('%Y')"]),
        ("{agent.name} {call.playbook}", ["agent.name", "call.playbook"]),
        ("{round($price, 2)}", ["round(price, 2)"]),
        ("{', '.join($names)}", ["', '.join(names)"]),
        ("{[n for n in $names]}", ["[n for n in names]"]),
        ("{{'a': $x}['a']}", ["{'a': x}['a']"]),
        ("{{LoadFile('x')}} and {{ $y }}", ["LoadFile('x')", "y"]),
        ("{'$5'.format($x)}", ["'$5'.format(x)"]),
        ("{the current month in French}", ["? the current month in French"]),
        ("{what $name likes best}", ["? what $name likes best"]),
        ("{don't know}", ["? don't know"]),
    ],
)
def test_an_expression_in_braces_is_a_placeholder(text: str, codes: list[str]) -> None:
    assert found(text) == codes


@pytest.mark.parametrize(
    "text",
    [
        '{"public": true}',
        "{}",
        "{1, 2}",
        "{3}",
        '{{"public": true}}',
        '{{"a": 1}}',
        "{ open",
        "{two\nlines}",
        "{x!}",
        "{x: 3}",
        "{name: the name}",
        "{name:the name}",
        "{x=}",
        '{"a":1}',
        "```\n{x}\n```",
        "~~~json\n{x}\n~~~",
        "{(]}",
        "closed }",
        "{$}",
    ],
)
def test_other_braces_are_text(text: str) -> None:
    assert found(text) == []


def test_a_placeholder_knows_its_place_and_its_variables() -> None:
    text = "Total: {$a + $b + $a} euro, {$c}"
    first, second = placeholders(text)
    assert text[first.start : first.end] == "{$a + $b + $a}"
    assert (first.said, first.variables) == ("$a + $b + $a", ("a", "b"))
    assert text[second.start : second.end] == "{$c}"


def test_what_stands_after_a_fence_is_read_again() -> None:
    assert found("{a}\n```\n{b}\n```\n{c}") == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("$x", "x"), ("$x+$yy", "x+yy"), ("'$x' + $x", "'$x' + x"), ('"a\\"$x"', '"a\\"$x"'), ("$5", "$5"), ("a$", "a$")],
)
def test_variables_are_plain_names_outside_quotes(text: str, plain: str) -> None:
    assert plain_names(text) == plain


@given(st.text(alphabet="{}[]()\"'`$x1 \n\\,.:", max_size=60))
def test_any_text_has_placeholders_in_order_and_none_twice(text: str) -> None:
    places = [(placeholder.start, placeholder.end) for placeholder in placeholders(text)]
    assert all(text[start] == "{" and text[end - 1] == "}" for start, end in places)
    assert places == sorted(places)
    assert all(before[1] <= after[0] for before, after in pairwise(places))
