"""Errors that point at the line of the source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from runtime.core.errors import ParseError

_WORD = re.compile(r"#{1,6}\s.*\S|[`~]{3,}\w*|!?\$?\w+(?:[.:\-/]\w+)*|\"[^\"]*\"|'[^']*'|<!--|-->|---|\*\*?|[-=]>")
"""The text that a caret underlines completely: a heading, a word, a name with its dots, a text in quotes, a mark."""
_MOST_SHOWN = 200
"""The characters of a line that a diagnostic shows of what it means, and behind it."""

Severity: TypeAlias = Literal["error", "warning", "note"]


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

    A "warning" does not keep the program from being used, nor does a "note", which says what may be meant so. `width`
    is how many characters are meant; 0 means the word that stands at the place.
    """

    message: str
    span: Span
    source_line: str = ""
    hint: str = ""
    severity: Severity = "error"
    width: int = 0

    @property
    def meant(self) -> str:
        """The marked characters, at least one; "" past the end of the line."""
        start = self.span.column - 1
        word = None if self.width else _WORD.match(self.source_line, start)
        return self.source_line[start : word.end() if word else start + max(1, self.width)]

    def render(self) -> str:
        """The diagnostic in a compiler's form: place, message, the line, and carets below the marked text."""
        out = [f"{self.span}: {self.severity}: {self.message}"]
        if self.source_line:
            number = str(self.span.line)
            before = self.source_line[: self.span.column - 1].ljust(self.span.column - 1)
            meant = self.meant[:_MOST_SHOWN]
            most = len(before) + len(meant) + _MOST_SHOWN
            more = "\u2026" if len(self.source_line) > most else ""
            out.append(f"  {number} | {_printable(self.source_line[:most])}{more}")
            out.append(f"  {' ' * len(number)} | {' ' * _width(before)}{'^' * max(1, _width(meant))}")
        if self.hint:
            out.append(f"  {self.hint}")
        return "\n".join(out)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic for editors, flat: its fields, and `file`, `line`, `column` and the `end_column` behind it."""
        plain = asdict(self)
        del plain["width"]
        end = self.span.column + max(1, self.width, len(self.meant))
        return {**plain.pop("span"), "end_column": end, **plain}


def _printable(line: str) -> str:
    """A line in printable form: a tab, or any other character that moves the cursor, becomes a space."""
    return "".join(" " if unicodedata.category(char) == "Cc" else char for char in line)


def _width(text: str) -> int:
    """The columns of a text whose characters have the same width, or twice that."""
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
