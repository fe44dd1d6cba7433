"""Conditions on variables that a program states in words and the runtime computes: `When $x > 15`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_WORDS = (
    (r"(\$\w+)\s+(?:exists|is set|is known|has a value)\b", r"(\1 != None)"),
    (r"(\$\w+)\s+(?:does not exist|is not set|is unset|is unknown|has no value)\b", r"(\1 == None)"),
    (r"(\$\w+)\s+is not empty\b", r"(not not \1)"),
    (r"(\$\w+)\s+is empty\b", r"(not \1)"),
    (r"(\$\w+)\s+contains\s+(\"[^\"]*\"|'[^']*'|\$\w+|[-\d.]+)", r"(\2 in \1)"),
    (r"\bis not\b|\bdoes not equal\b", "!="),
    (r"\bis (?:greater|more|larger) than or equal to\b|\bis at least\b", ">="),
    (r"\bis (?:less|smaller|fewer) than or equal to\b|\bis at most\b", "<="),
    (r"\bis (?:greater|more|larger) than\b|\bexceeds\b", ">"),
    (r"\bis (?:less|smaller|fewer) than\b", "<"),
    (r"\bequals\b|\bbecomes\b|\bis\b", "=="),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (r"\b(?:none|nothing|null)\b", "None"),
)

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}

Condition = Callable[[Mapping[str, Any]], bool]


def condition_of(text: str) -> Condition | None:
    """The condition that a trigger's text states about variables (`When $x > 15`), None when it is not computable."""
    found = re.match(r"\s*(?:when|if|once|whenever)\s+(.*?)\.?\s*\Z", text, re.IGNORECASE | re.DOTALL)
    expression = found[1] if found else text
    if "$" not in expression:
        return None
    for pattern, symbol in _WORDS:
        expression = re.sub(pattern, symbol, expression)
    try:
        tree = ast.parse(expression.replace("$", ""), mode="eval")
        _check(tree.body)
    except (SyntaxError, ValueError):
        return None
    return lambda variables: _holds(tree.body, variables)


def _check(node: ast.expr) -> None:
    allowed = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Name, ast.Constant)
    if not isinstance(node, allowed):
        raise ValueError(f"not computable: {ast.unparse(node)}")
    if isinstance(node, ast.Compare) and any(type(op) not in _COMPARE for op in node.ops):
        raise ValueError("not computable")
    if isinstance(node, ast.BinOp) and type(node.op) not in _ARITHMETIC:
        raise ValueError("not computable")
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child)


def _holds(node: ast.expr, variables: Mapping[str, Any]) -> bool:
    try:
        return bool(_value(node, variables))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return False


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return variables[name]
        case ast.BoolOp(op=op, values=values):
            each = (bool(_value(v, variables)) for v in values)
            return all(each) if isinstance(op, ast.And) else any(each)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, variables)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, variables)
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, variables), _value(right, variables))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _compared(left, ops, comparators, variables)
    raise ValueError(f"not computable: {ast.unparse(node)}")


def _compared(left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr], variables: Mapping[str, Any]) -> bool:
    if isinstance(left, ast.Name) and any(isinstance(right, ast.Constant) and right.value is None for right in rights):
        variables = {left.id: None, **variables}
    value = _value(left, variables)
    for op, right in zip(ops, rights, strict=True):
        other = _value(right, variables)
        if not _COMPARE[type(op)](value, other):
            return False
        value = other
    return True
