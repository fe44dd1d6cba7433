"""Errors that point at the line of the source."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

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
    """One thing that is wrong: what, where, the line itself, and what was expected or what to do.

    A "warning" does not keep the program from being used.
    """

    message: str
    span: Span
    source_line: str = ""
    hint: str = ""
    severity: Literal["error", "warning"] = "error"

    def render(self) -> str:
        """The diagnostic as a compiler prints it: place, message, the line and a caret below the column."""
        out = [f"{self.span}: {self.severity}: {self.message}"]
        if self.source_line:
            number = str(self.span.line)
            before = self.source_line[: self.span.column - 1].ljust(self.span.column - 1)
            out.append(f"  {number} | {_printable(self.source_line)}")
            out.append(f"  {' ' * len(number)} | {' ' * _width(before)}^")
        if self.hint:
            out.append(f"  {self.hint}")
        return "\n".join(out)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic for editors, flat: its fields, and `file`, `line` and `column`."""
        plain = asdict(self)
        return {**plain.pop("span"), **plain}


def _printable(line: str) -> str:
    """A line as it can be shown: a tab, and whatever else moves the cursor, is a blank."""
    return "".join(" " if unicodedata.category(char) == "Cc" else char for char in line)


def _width(text: str) -> int:
    """How many columns a text takes where all characters have the same width, or twice that."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


class ProgramRejected(ParseError):
    """A program that cannot be used; the text is every diagnostic, rendered."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = tuple(diagnostics)
