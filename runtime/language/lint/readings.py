"""Conditions that can be read in two ways: a model is asked, and the author is told how to write each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.language.instructions.conditions.reading import condition_readings, in_symbols, read_condition
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Condition, Jump, Loop, Prose
from runtime.language.lint.findings import Finding
from runtime.language.program import PlaybookSpec

_MOST = 3
_SUBJECT = 1
"""The gaps between words before which nothing is compared."""


def two_readings(playbook: PlaybookSpec) -> Iterator[Finding]:
    """The conditions of a playbook's steps that a model judges though they look exact: those with more than one
    meaning, and those of which only the beginning has one."""
    if playbook.kind != "llm":
        return
    for step in playbook.walk_steps():
        for part in decode(step).parts:
            test = part.test if isinstance(part, Condition | Jump) else part.over if isinstance(part, Loop) else None
            if not isinstance(test, Prose):
                continue
            readings = condition_readings(test.text)
            if len(readings) > 1:
                ways = " or ".join(f"`{in_symbols(one)}`" for one in readings[:_MOST])
                yield Finding(
                    step.span,
                    "this condition can be read in two ways, so a model is asked which holds",
                    f"Write what you mean: {ways}.",
                    test.text,
                )
            elif exact := _exact_beginning(test.text):
                message = f"a model judges this condition: `{exact}` is exact, and what follows is not"
                yield Finding(step.span, message, word=test.text[len(exact) :].strip(" ,"), severity="note")


def _exact_beginning(text: str) -> str:
    """The longest beginning of a condition that compares something and is exact; "" for none."""
    for cut in reversed([at for at, char in enumerate(text) if char.isspace()][_SUBJECT:]):
        found = read_condition(text[:cut].rstrip(","))
        if found is not None and isinstance(found.tree, ast.Compare | ast.BoolOp):
            return text[:cut].rstrip(",")
    return ""
