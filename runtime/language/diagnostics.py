"""Errors that point at the line of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runtime.core.errors import ParseError


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong: what, where, the line itself, and what was expected or what to do."""

    message: str
    span: Span
    source_line: str = ""
    hint: str = ""

    def render(self) -> str:
        """The diagnostic as a compiler prints it: place, message, the line and a caret below the column."""
        out = [f"{self.span}: error: {self.message}"]
        if self.source_line:
            number = str(self.span.line)
            out.append(f"  {number} | {self.source_line}")
            out.append(f"  {' ' * len(number)} | {' ' * (self.span.column - 1)}^")
        if self.hint:
            out.append(f"  {self.hint}")
        return "\n".join(out)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic for editors."""
        return asdict(self)


class ProgramRejected(ParseError):
    """A program that cannot be used; the text is every diagnostic, rendered."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = tuple(diagnostics)
