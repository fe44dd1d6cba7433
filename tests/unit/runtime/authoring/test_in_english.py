"""Exact expressions in English: what they compute, whatever their authors wrote."""

import pytest

from runtime.authoring.in_english import condition_in_english, value_in_english
from runtime.language.instructions.expression import read_expression


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$a or $b == 3", "$a is neither empty nor false, or $b is 3"),
        ("$a > 3 and $b == 5 or $c", "($a is more than 3, and $b is 5), or $c is neither empty nor false"),
        ("not ($a and $b == 3)", "$a is empty or false, or $b is not 3"),
        ("not ($a or not $b)", "$a is empty or false, and $b is neither empty nor false"),
        ("3 <= $n <= 5", "$n is at least 3, and $n is at most 5"),
        ("not 3 <= $n <= 5", "it is not so that $n is at least 3, and $n is at most 5"),
        ("not $n < 3", "$n is not less than 3"),
        ('$x in ["a", "b"]', '$x is one of "a" and "b"'),
        ("$x not in [1, 2]", "$x is not one of 1 and 2"),
        ('not "x" in $name', '$name does not contain "x"'),
        ("$x in [None, '', []]", "$x is empty or not given"),
        ("$x not in [None, '']", "$x is neither empty nor not given"),
        ("$x == None", "$x is not given"),
        ("$x != None", "$x is given"),
        ("$x is not None", "$x is given"),
        ('not $name.startswith("A")', '$name does not start with "A"'),
        ("$order.total * 2 >= len($items)", "$order.total * 2 is at least len($items)"),
        ("$paid == True", "$paid is true"),
    ],
)
def test_a_condition_says_what_belongs_together(source: str, expected: str) -> None:
    expression = read_expression(source)
    assert expression is not None
    assert condition_in_english(expression) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1,500", "1500"),
        ("[1, 500]", "a list of 1 and 500"),
        ("[1, 2, $x]", "a list of 1, 2 and $x"),
        ("[]", "an empty list"),
        ("None", "nothing"),
        ("$n > 5", "whether $n is more than 5"),
        ("not $n", "whether $n is empty or false"),
        ("$a == 1 and $b == 2", "whether $a is 1, and $b is 2"),
        ("$a + $b * 2", "$a + $b * 2"),
        ('"a"', '"a"'),
        ("true", "true"),
        ("Shop.Price($x, count=$sum)", "Shop.Price($x, count=$sum)"),
        ("$text.upper()", "$text.upper()"),
        ("6 if $n > 5 else 7", "6 if $n is more than 5, otherwise 7"),
        ("{'a': $open}", "{'a': $open}"),
    ],
)
def test_a_value_says_what_it_is(source: str, expected: str) -> None:
    expression = read_expression(source)
    assert expression is not None
    assert value_in_english(expression) == expected
