"""Conditions on variables that the runtime computes by itself."""

from typing import Any

import pytest

from runtime.execution.triggers.kinds import condition_of
from runtime.execution.triggers.triggers import declared_types
from runtime.language.program import PlaybookSpec
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, steps


@pytest.mark.parametrize(
    ("text", "holds", "fails"),
    [
        ("When $x > 15", {"x": 16}, {"x": 15}),
        ("when $x is greater than 15.", {"x": 16}, {"x": 15}),
        ("If $x is at least 15", {"x": 15}, {"x": 14}),
        ("Once $total exceeds 100", {"total": 101}, {"total": 100}),
        ("When $x is less than or equal to 2", {"x": 2}, {"x": 3}),
        ("When $x equals 3 and $y is not 4", {"x": 3, "y": 5}, {"x": 3, "y": 4}),
        ("When $done is true", {"done": True}, {"done": False}),
        ('When $status becomes "ready"', {"status": "ready"}, {"status": "new"}),
        ("When not $ok", {"ok": False}, {"ok": True}),
        ("When $a + $b > 2 * $c", {"a": 3, "b": 2, "c": 2}, {"a": 2, "b": 2, "c": 2}),
        ("When 1 < $x < 3", {"x": 2}, {"x": 3}),
        ("When $x > -1", {"x": 0}, {"x": -1}),
        ('When "a" in $letters', {"letters": ["a"]}, {"letters": []}),
        ("When $x > 1 or $y > 1", {"x": 0, "y": 2}, {"x": 0, "y": 0}),
        ("$x > 15", {"x": 16}, {"x": 1}),
        ("When $x exists", {"x": 0}, {}),
        ("When $x is even", {"x": 4}, {"x": 3}),
        ("When $x is odd", {"x": 3}, {"x": 4}),
        ('When $user.name is "Ada"', {"user": {"name": "Ada"}}, {"user": {}}),
        ("When len($x) > 1", {"x": [1, 2]}, {"x": [1]}),
        ("When $x / 2 > 3", {"x": 8}, {"x": 4}),
        ("When $x is set", {"x": ""}, {"x": None}),
        ("When $x is not set", {"y": 1}, {"x": 1}),
        ("When $list is empty", {"list": []}, {"list": [1]}),
        ("When $list is not empty", {"list": [1]}, {"list": []}),
        ('When $text contains "fire" or $x is nothing', {"text": "a fire!", "x": 1}, {"text": "water", "x": 1}),
    ],
)
def test_a_condition_on_variables_is_computed(text: str, holds: dict[str, Any], fails: dict[str, Any]) -> None:
    condition = condition_of(text)
    assert condition is not None
    assert condition(holds)
    assert not condition(fails)


@pytest.mark.parametrize(
    "text",
    [
        "When the user is angry",
        "When program starts",
        "When $x looks suspicious",
        "When $x > 15 and the user agrees",
        "When $mood is angry",
        "When $status becomes shipped",
        "When $email is valid",
        "When Price($x) > 3",
        "When __import__('os') == $x",
        "When",
    ],
)
def test_what_needs_judgement_is_left_to_the_model(text: str) -> None:
    assert condition_of(text) is None


@pytest.mark.parametrize("variables", [{}, {"x": None}, {"x": "many"}, {"x": [1]}])
def test_a_condition_on_a_missing_or_strange_value_does_not_hold(variables: dict[str, Any]) -> None:
    condition = condition_of("When $x > 15")
    assert condition is not None
    assert not condition(variables)


def test_types_are_those_that_are_declared_anywhere_in_the_agents_playbooks() -> None:
    types = declared_types(
        agent(
            "A",
            PlaybookSpec("Main", "llm", SPAN, steps=steps("01:EXE Set $count:int and $name"), notes=("$done:bool",)),
            llm("Other", "01:EXE Set $name:str, then $count"),
        )
    )
    assert types == {"count": "int", "name": "str", "done": "bool"}


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("$x:int | None = f()", "int | None"),
        ("$x:str|int, then", "str|int"),
        ("$x:Optional[int] is old", "Optional[int]"),
        ("$x:dict[str, list[int]] or [1]", "dict[str, list[int]]"),
        ('$x:Literal["a", "b"].', 'Literal["a", "b"]'),
        ("$x:int or nothing", "int"),
    ],
)
def test_a_type_may_name_what_is_inside_and_what_else_it_may_be(text: str, declared: str) -> None:
    assert declared_types(agent("A", llm("Main", f"01:EXE {text}"))) == {"x": declared}
