"""The policy refuses what a reply has no business with, and lets through what it needs."""

from __future__ import annotations

import ast

import pytest

from gateway.built_in_calls import SIGNATURES
from runtime.sandbox.policy import HOST_FUNCTIONS, check
from tests.unit.runtime.sandbox.hostile import HOSTILE

NEEDED = [
    'await Say("user", f"Nice to meet you, {name!r:>10}!")',
    'await Var("__", "Greeted Ada.")',
    "x = await Agent.Playbook(1, key=[2, *rest])",
    "a, b = await asyncio.gather(Fetch(1), Fetch(2))",
    "import asyncio",
    "from asyncio import gather",
    "import json, re, math",
    "from datetime import date, timedelta",
    "from collections import Counter as C",
    "total += sum(v for v in values if v > 3)",
    "count: int = len({k: v for k, v in table.items()})",
    "for i, row in enumerate(rows):\n    if i > 3:\n        break\n    else:\n        continue",
    "while (n := n - 1) > 0:\n    pass",
    'try:\n    await Pay()\nexcept ValueError as error:\n    await Say("user", str(error))\nfinally:\n    done = True',
    "async def twice(x, *rest, key=1, **more):\n    y = await Fetch(x)\n    return [y, y]",
    "key = lambda row: row['age'] if row else None",
    "match answer:\n    case {'kind': 'yes', **rest}:\n        x = 1\n    case [_, *others]:\n        pass",
    "text = 'a {} and {name:>4}'.format(1, name=2)",
    "text = names[0][1:3].strip().upper()",
    "assert total > 0, 'nothing to sum'",
    "raise ValueError('no such order')",
    "print(__)",
]


@pytest.mark.parametrize(
    ("source", "rule"), [(source, rule) for _, source, rule in HOSTILE], ids=[h[0] for h in HOSTILE]
)
def test_hostile_statement_is_refused_by_its_rule(source: str, rule: str | None) -> None:
    violation = check(ast.parse(source), protected=HOST_FUNCTIONS | SIGNATURES.keys())
    assert (violation.rule if violation else None) == rule


@pytest.mark.parametrize("source", NEEDED)
def test_statement_that_a_reply_needs_is_let_through(source: str) -> None:
    assert check(ast.parse(source)) is None


def test_violation_names_the_line_and_the_name() -> None:
    violation = check(ast.parse("x = 1\nif x:\n    y = open('a')"))
    assert violation is not None
    assert violation.line == 3
    assert "open" in violation.message


def test_names_of_the_program_can_be_protected_too() -> None:
    violation = check(ast.parse("Shop = 1"), protected=frozenset({"Shop"}))
    assert violation is not None
    assert violation.rule == "protected"


def test_statement_is_judged_without_its_module_too() -> None:
    violation = check(ast.parse("import os").body[0])
    assert violation is not None
    assert violation.rule == "import"


def test_deep_tree_is_refused_without_recursion() -> None:
    node: ast.expr = ast.Constant(1)
    for _ in range(50_000):
        node = ast.UnaryOp(ast.Not(), node)
    violation = check(ast.Expr(node))
    while isinstance(node, ast.UnaryOp):  # taken apart by hand: freeing it whole would overflow the C stack
        node = node.operand
    assert violation is not None
    assert violation.rule == "size"
