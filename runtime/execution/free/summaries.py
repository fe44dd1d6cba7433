"""Whether a playbook has summed up what it did in `$__` wherever it ends, whichever way its statements go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from runtime.execution.free.statement import call_name, parsed

SUMMARY = "__"
"""The variable that a playbook sums up in what it did."""

_MAY_BE_LEFT_OUT = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions parts of which are not always evaluated."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_GOES_ELSEWHERE = (ast.Break, ast.Continue, ast.Raise)

_ENDS_TURN = frozenset({"Return", "Yld", "EndProgram"})


class Summaries:
    """Follows one statement. A loop may have no rounds, and an `if` takes one of its ways."""

    def __init__(self, tree: ast.AST, *, summed_up: bool) -> None:
        self._early: set[ast.Call] = set()
        body = tree.body if isinstance(tree, ast.Module) else [tree]
        self.at_end = self._block([one for one in body if isinstance(one, ast.stmt)], summed_up)
        """Whether `$__` is set behind the statement."""

    def missing_at(self, call: ast.Call) -> bool:
        """Whether control may come to this call of the statement before `$__` is set."""
        return call in self._early

    def _block(self, statements: Sequence[ast.stmt], summed_up: bool) -> bool:
        for statement in statements:
            summed_up = self._statement(statement, summed_up)
        return summed_up

    def _statement(self, node: ast.stmt, summed_up: bool) -> bool:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                before = self._expressions(test, summed_up)
                return all([self._block(body, before), self._block(orelse, before)])
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, summed_up)
            case ast.Try() | ast.TryStar():
                return self._try(node, summed_up)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                for item in node.items:
                    summed_up = self._expressions(item, summed_up)
                return self._block(body, summed_up)
            case ast.Match(subject=subject, cases=cases):
                before = self._expressions(subject, summed_up)
                return all([*[self._block(case.body, before) for case in cases], before or _takes_all(cases)])
            case _ if isinstance(node, _FUNCTIONS):
                return summed_up
            case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Name(id=name)))) if name in _ENDS_TURN:
                self._expressions(node, summed_up)
                return True
        return self._expressions(node, summed_up) or isinstance(node, _GOES_ELSEWHERE)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, summed_up: bool) -> bool:
        head = node.test if isinstance(node, ast.While) else node.iter
        before = self._expressions(head, summed_up)
        self._block(node.body, before)
        self._block(node.orelse, before)
        return before

    def _try(self, node: ast.Try | ast.TryStar, summed_up: bool) -> bool:
        ends = [self._block([*node.body, *node.orelse], summed_up)]
        ends += [self._block(handler.body, summed_up) for handler in node.handlers]
        return self._block(node.finalbody, summed_up) or all(ends)

    def _expressions(self, node: ast.AST, summed_up: bool) -> bool:
        """Calls in the order in which they stand; each that comes too early is remembered."""
        found = sorted(_always_and_not(node), key=lambda one: (one[0].lineno, one[0].col_offset))
        for part, always in found:
            if isinstance(part, ast.Call) and not summed_up:
                self._early.add(part)
            summed_up = summed_up or (always and is_summary(part))
        return summed_up


def sums_up(source: str) -> bool:
    """Whether `$__` is set when a statement has been executed, whichever way it went."""
    return Summaries(parsed(source), summed_up=False).at_end


def is_summary(node: ast.AST) -> bool:
    """Whether a node of a statement sets `$__`."""
    if isinstance(node, ast.Name):
        return node.id == SUMMARY and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call) or call_name(node.func) != "Var":
        return False
    given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "name")]
    return any(isinstance(one, ast.Constant) and str(one.value).removeprefix("$") == SUMMARY for one in given[:1])


def _always_and_not(node: ast.AST, always: bool = True) -> Iterator[tuple[ast.Call | ast.Name, bool]]:
    """Calls and names of a node, each with whether it is always come to."""
    if isinstance(node, ast.Call | ast.Name):
        yield node, always
    inner = always and not isinstance(node, _MAY_BE_LEFT_OUT)
    for child in ast.iter_child_nodes(node):
        yield from _always_and_not(child, inner)


def _takes_all(cases: Sequence[ast.match_case]) -> bool:
    last = cases[-1]
    return last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
