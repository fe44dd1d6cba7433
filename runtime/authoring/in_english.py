"""An exact expression in English, from what it computes and not from its author's words: whoever reads it sees whether
both are the same."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from runtime.language.instructions.evaluation import CONSTANTS
from runtime.language.instructions.expression import Expression
from runtime.language.value_types import variable_name

_HOLDS = "is neither empty nor false"
_FAILS = "is empty or false"
_ORDERED: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("less than", "more than"),
    ast.LtE: ("at most", "at least"),
    ast.Gt: ("more than", "less than"),
    ast.GtE: ("at least", "at most"),
}
"""The words of a comparison, and those when its sides are exchanged."""
_ABOUT_TEXT = {"startswith": ("starts with", "does not start with"), "endswith": ("ends with", "does not end with")}
_PHRASES = {"_meeting_active": ("the meeting is active", "the meeting is over")}


def listed(names: Sequence[str]) -> str:
    """Names as people list them: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def value_in_english(expression: Expression) -> str:
    """What an expression is: `1500`, `a list of 1 and 500`, `whether $n is more than 5`."""
    return _value(expression.tree)


def condition_in_english(expression: Expression) -> str:
    """When an expression holds: `$name is neither empty nor false, or $email is not given`."""
    return _test(expression.tree)


def _test(node: ast.expr, *, holds: bool = True, inside: bool = False) -> str:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _test(operand, holds=not holds, inside=inside)
        case ast.BoolOp(op=op, values=values):
            word = "and" if isinstance(op, ast.And) is holds else "or"
            found = f", {word} ".join(_test(one, holds=holds, inside=True) for one in values)
            return f"({found})" if inside else found
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right, holds=holds)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            pairs = zip((left, *rights), ops, rights, strict=False)
            found = ", and ".join(_compared(one, op, other) for one, op, other in pairs)
            return found if holds else f"it is not so that {found}"
        case ast.Call(func=ast.Attribute(value=text, attr=attr), args=[part]) if attr in _ABOUT_TEXT:
            return f"{_value(text)} {_ABOUT_TEXT[attr][not holds]} {_value(part)}"
        case ast.Name(id=name) if name in _PHRASES:
            return _PHRASES[name][not holds]
    return f"{_value(node)} {_HOLDS if holds else _FAILS}"


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, *, holds: bool = True) -> str:
    holds = holds is not isinstance(op, ast.NotEq | ast.NotIn | ast.IsNot)
    is_, is_not = ("is", "is not") if holds else ("is not", "is")
    exchanged = isinstance(left, ast.Constant) and not isinstance(right, ast.Constant)
    if type(op) in _ORDERED:
        one, other = (right, left) if exchanged else (left, right)
        return f"{_value(one)} {is_} {_ORDERED[type(op)][exchanged]} {_value(other)}"
    if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        one, other = (right, left) if exchanged else (left, right)
        if isinstance(other, ast.Constant) and other.value is None:
            return f"{_value(one)} {is_not} given"
        return f"{_value(one)} {is_} {_value(other)}"
    if not isinstance(right, ast.List | ast.Tuple):
        return f"{_value(right)} {'contains' if holds else 'does not contain'} {_value(left)}"
    if any(isinstance(one, ast.Constant) and one.value is None for one in right.elts):
        return f"{_value(left)} {'is empty or' if holds else 'is neither empty nor'} not given"
    return f"{_value(left)} {is_} one of {listed([_value(one) for one in right.elts])}"


def _value(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return f'"{text}"'
        case ast.Constant(value=None) | ast.Name(id="None" | "null"):
            return "nothing"
        case ast.Name(id="True" | "False" as name):
            return name.lower()
        case ast.Constant(value=bool() as holds):
            return str(holds).lower()
        case ast.List(elts=[]) | ast.Tuple(elts=[]):
            return "an empty list"
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return f"a list of {listed([_value(one) for one in elts])}"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"{_value(body)} if {_test(test)}, otherwise {_value(other)}"
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return f"whether {_test(node)}"
        case ast.BoolOp(values=values) if all(isinstance(one, ast.Compare | ast.BoolOp) for one in values):
            return f"whether {_test(node)}"
    return ast.unparse(_Dollars().visit(ast.parse(ast.unparse(node), mode="eval").body))


class _Dollars(ast.NodeTransformer):
    """Names of variables as authors write them."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(node.id if node.id in CONSTANTS else f"${variable_name(node.id)}", node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        of_agent = ast.unparse(node.func)[:1].isupper()
        return ast.Call(
            node.func if of_agent or isinstance(node.func, ast.Name) else self.visit(node.func),
            [self.visit(one) for one in node.args],
            [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords],
        )
