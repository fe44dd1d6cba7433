"""Types of variables at their first use, where the step itself tells them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from runtime.language.phrases import ASSIGN, whole_call
from runtime.language.program import Op, Step
from runtime.language.signature import parse_python

TYPES = frozenset({"str", "int", "float", "bool", "list", "dict"})

_ONE = re.compile(r"^\$(\w+)(\s*=(?!=)\s*)")
_TYPED = re.compile(r"\$(\w+):[A-Za-z]")
_YIELD = re.compile(r";\s*YLD for .*$", re.DOTALL)


class FirstUses:
    """Gives the variables of one playbook their types, step by step in the order of the text.

    A variable that is assigned a literal, or what a playbook with a declared result gives, gets that type where it
    first appears: `$n = 3` is `$n:int = 3`. One that has a type already, by its author or as a parameter, keeps it.
    """

    def __init__(self, typed: frozenset[str], results: Mapping[str, str]) -> None:
        """`typed` are variables with a type already, `results` the types of playbooks' results by name."""
        self._seen = set(typed)
        self._results = results

    def typed(self, step: Step) -> Step:
        """The step, with the types that its variables get by it; the steps below it too."""
        text = self._assignment(step.text) if step.op in (Op.EXE, Op.QUE) else step.text
        self._seen |= set(_TYPED.findall(text)) | set(re.findall(r"\$(\w+)", text))
        return replace(step, text=text, children=tuple(self.typed(child) for child in step.children))

    def _assignment(self, text: str) -> str:
        match = _ONE.match(text)
        if match is None or match[1] in self._seen or not ASSIGN.match(text):
            return text
        kind = self._type_of(_YIELD.sub("", text[match.end() :]))
        return f"${match[1]}:{kind}{match[2]}{text[match.end() :]}" if kind else text

    def _type_of(self, value: str) -> str:
        called = whole_call(value)
        if called is not None:
            return self._results.get(called, "")
        try:
            kind = type(ast.literal_eval(parse_python(f"({value})").body[0].value)).__name__  # type: ignore[attr-defined]
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, IndexError, AttributeError):
            return ""
        return kind if kind in TYPES else ""


def result_type(returns: str | None) -> str:
    """The type that a variable gets from what a playbook returns; "" where that says none."""
    name = (returns or "").strip("'\" ").partition("[")[0]
    return name if name in TYPES else ""
