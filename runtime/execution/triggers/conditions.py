"""Conditions on variables that the runtime evaluates at each update: `When $x > 15`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.evaluation import NotComputable
from runtime.language.instructions.expression import Expression
from runtime.language.variable_names import variable_name

Condition = Callable[[Mapping[str, Any]], bool]

_WHEN = re.compile(r"\s*(?:when|if|once|whenever)\s+(.*?)\.?\s*\Z", re.IGNORECASE | re.DOTALL)


def condition_of(text: str) -> Condition | None:
    """The condition that a trigger's text states about variables (`When $x > 15`), None when it is not computable.

    It is read as the conditions of steps are, but calls nothing: a word without `$` that is no literal is left to the
    model.
    """
    found = _WHEN.match(text)
    expression = read_condition(found[1] if found else text)
    if expression is None or expression.calls or not expression.names:
        return None
    absent = dict.fromkeys(_compared_with_none(expression.tree))
    return lambda variables: _holds(expression, {**absent, **variables})


def _holds(expression: Expression, variables: Mapping[str, Any]) -> bool:
    try:
        return bool(expression.evaluate(variables))
    except NotComputable:
        return False


def _compared_with_none(tree: ast.AST) -> Iterator[str]:
    """The variables that a condition tests for being set."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Name(id=name), comparators=[*_, ast.Constant(value=None)]):
                yield variable_name(name)
