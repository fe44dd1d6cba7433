"""Checks for triggers inside of one statement: `for` and `if` hold statements that each may owe one."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_CHECK = re.compile(r"#+\s*trig\s*\?", re.IGNORECASE)

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPOUND = (*_LOOPS, ast.If, ast.Try, ast.Match, ast.With)


@dataclass(frozen=True, slots=True)
class _Owed:
    """What a check is owed for, and the line where it ends."""

    what: str
    line: int


class InnerChecks:
    """Looks through a statement for a step or an update behind which something else comes before a check.

    `owes` says for a statement what is to be checked behind it, None for nothing, and "" where it is itself the answer
    to a check; `is_free` which may come before the check.
    """

    def __init__(
        self, written: str, owes: Callable[[ast.stmt], str | None], is_free: Callable[[ast.stmt], bool]
    ) -> None:
        self._written = written
        self._checks: list[int] = []
        self._owes = owes
        self._is_free = is_free
        self._missing: str | None = None

    def missing(self, tree: ast.Module) -> str | None:
        """Behind what a check is missing; None when only the last of it owes one, or nothing."""
        if any(isinstance(statement, _COMPOUND) for statement in tree.body):
            self._checks = list(_check_lines(self._written))
            self._walk(tree.body, None)
        return self._missing

    def _walk(self, block: Sequence[ast.stmt], owed: _Owed | None) -> _Owed | None:
        for statement in block:
            if owed is not None and self._checked(owed.line, statement.lineno):
                owed = None
            if owed is not None and not self._is_free(statement):
                self._missing = self._missing or owed.what
            owed = self._behind(statement, owed)
        return owed

    def _behind(self, statement: ast.stmt, owed: _Owed | None) -> _Owed | None:
        if not isinstance(statement, _COMPOUND):
            what = self._owes(statement)
            if what is None:
                return owed
            return _Owed(what, statement.end_lineno or statement.lineno) if what else None
        ends = [self._walk(block, None) for block in _blocks(statement)]
        left = next((end for end in ends if end is not None), None)
        if left is not None and isinstance(statement, _LOOPS) and not self._checked(left.line, None):
            self._missing = self._missing or left.what
        return left

    def _checked(self, after: int, before: int | None) -> bool:
        return any(after <= line and (before is None or line < before) for line in self._checks)


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _check_lines(written: str) -> Iterator[int]:
    """The lines of the comments that say whether a trigger holds."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(written).readline):
            if token.type == tokenize.COMMENT and _CHECK.match(token.string):
                yield token.start[0]
    except (tokenize.TokenError, IndentationError):  # it is Python; what it lacks is a line end
        return
