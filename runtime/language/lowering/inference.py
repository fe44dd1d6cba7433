"""Types of variables at their first use, if the step itself reveals them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from runtime.language.instructions.text import assignment
from runtime.language.lowering.phrases import whole_call
from runtime.language.program import OpCode, Step
from runtime.language.syntax.signature import parse_python
from runtime.language.value_types import VARIABLE

TYPES = frozenset({"str", "int", "float", "bool", "list", "dict"})


class FirstUses:
    """Gives the variables of one playbook their types, where they first appear: `$n = 3` is `$n:int = 3`. One with a
    type keeps it; one that also gets something of another type, or that a step in prose changes, has none."""

    def __init__(self, typed: frozenset[str], results: Mapping[str, str]) -> None:
        """`typed` are variables with a type, `results` the types of playbooks' results by name."""
        self._seen = set(typed)
        self._results = results
        self._types: dict[str, set[str]] = {}

    def typed(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps of the playbook, with the types of its variables."""
        for step in (inner for outer in steps for inner in outer.walk()):
            self._learn(step)
        return tuple(self._typed(step) for step in steps)

    def _learn(self, step: Step) -> None:
        """Note the types of values that a step assigns; "" for an unknown one."""
        assigned = assignment(step.text)
        if assigned and ":" not in assigned[0] and step.op in (OpCode.EXE, OpCode.QUE):
            given = self._type_of(assigned[1].partition("; YLD for ")[0])
            self._types.setdefault(assigned[0][1:], set()).add(given)
        elif step.op is OpCode.EXE or step.text.startswith("$"):
            for name in VARIABLE.findall(step.text):
                self._types.setdefault(name, set()).add("")

    def _typed(self, step: Step) -> Step:
        text = self._assignment(step.text) if step.op in (OpCode.EXE, OpCode.QUE) else step.text
        if "$" in text:
            self._seen.update(VARIABLE.findall(text))
        if text == step.text and not step.children:
            return step
        return replace(step, text=text, children=tuple(self._typed(child) for child in step.children))

    def _assignment(self, text: str) -> str:
        assigned = assignment(text)
        if assigned is None or ":" in assigned[0] or assigned[0][1:] in self._seen:
            return text
        kinds = self._types[assigned[0][1:]]
        kind = next(iter(kinds)) if len(kinds) == 1 else ""
        return f"{assigned[0]}:{kind} = {assigned[1]}" if kind else text

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
    """A variable's type from a playbook's result; "" if it declares none."""
    name = (returns or "").strip("'\" ").partition("[")[0]
    return name if name in TYPES else ""
