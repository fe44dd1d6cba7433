"""A finding of the lint, and the place in the source that it points at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.diagnostics import Diagnostic, Severity, Span
from runtime.language.program import AgentSpec, PythonFence
from runtime.language.syntax.listing import is_item
from runtime.language.syntax.signature import parse_python

SourceLines = Mapping[tuple[str, int], str]
"""The lines of a program by file and number."""

_MOST_LINES = 20


class Finding(Struct, frozen=True):
    """A finding about what begins at `span`; `word` is the part that is meant. An "error" cannot work at all."""

    span: Span
    message: str
    hint: str = ""
    word: str = ""
    severity: Severity = "warning"

    def diagnostic(self, lines: SourceLines) -> Diagnostic:
        """The warning at the place of its word; without source lines, where the step or heading begins."""
        span, width = self.span, 0
        pattern = re.compile(rf"(?<![\w$]){re.escape(self.word)}(?!\w)")
        for number, text in _lines_of(span, lines) if self.word else ():
            if match := pattern.search(text, span.column - 1 if number == span.line else 0):
                span, width = replace(span, line=number, column=match.start() + 1), len(self.word)
                break
        line = lines.get((span.file, span.line), "")
        return Diagnostic(self.message, span, line, self.hint, self.severity, width)


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.75, sign: str = "") -> str:
    """The hint with the most similar name, as a mapping of names says how it is written; "" if none is similar."""
    near = get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    shown = known[near[0]] if near and isinstance(known, Mapping) else near[0] if near else ""
    return f"Did you mean {sign}{shown}?" if near else ""


def python_of(agent: AgentSpec) -> Iterator[tuple[PythonFence, ast.Module]]:
    """The agent's fences, each with its tree: what is no Python was refused when the program was read."""
    return ((fence, parse_python(fence.source)) for fence in agent.fences)


def nodes_of(agent: AgentSpec) -> Iterator[ast.AST]:
    """All nodes of the agent's Python."""
    return (node for _, tree in python_of(agent) for node in ast.walk(tree))


def as_written(span: Span, lines: SourceLines) -> str:
    """The item that starts at `span` in its author's words, line by line; "" without source lines."""
    return "\n".join(text for _, text in _lines_of(span, lines))


def _lines_of(span: Span, lines: SourceLines) -> Iterator[tuple[int, str]]:
    for number in range(span.line, span.line + _MOST_LINES):
        text = lines.get((span.file, number), "")
        if not text.strip() or (number > span.line and (is_item(text) or text.lstrip().startswith("#"))):
            return
        yield number, text
