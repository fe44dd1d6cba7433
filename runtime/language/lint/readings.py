"""Conditions that can be read in two ways: a model is asked, and the author is told how to write each."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.language.instructions.conditions.reading import condition_readings, in_symbols
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Condition, Jump, Loop, Prose
from runtime.language.lint.findings import Finding
from runtime.language.program import PlaybookSpec

_MOST = 3


def two_readings(playbook: PlaybookSpec) -> Iterator[Finding]:
    """The conditions of a playbook's steps with more than one meaning."""
    if playbook.kind != "llm":
        return
    for step in playbook.walk_steps():
        for part in decode(step).parts:
            test = part.test if isinstance(part, Condition | Jump) else part.over if isinstance(part, Loop) else None
            readings = condition_readings(test.text) if isinstance(test, Prose) else ()
            if isinstance(test, Prose) and len(readings) > 1:
                ways = " or ".join(f"`{in_symbols(one)}`" for one in readings[:_MOST])
                yield Finding(
                    step.span,
                    "this condition can be read in two ways, so a model is asked which holds",
                    f"Write what you mean: {ways}.",
                    test.text,
                )
