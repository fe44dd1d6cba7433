"""Errors that point at the line of the source, and their collection, so that an author sees all of them at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import ParseError
from runtime.core.json_text import plain_data

_WORD = re.compile(r"#{1,6}\s.*\S|[`~]{3,}\w*|!?\$?\w+(?:[.:\-/]\w+)*|\"[^\"]*\"|'[^']*'|<!--|-->|---|\*\*?|[-=]>")
"""The text that a caret underlines completely: a heading, a word, a name with its dots, a text in quotes, a mark."""
_MOST_SHOWN = 200
"""The characters of a line that a diagnostic shows of what it means, and behind it."""

Severity: TypeAlias = Literal["error", "warning", "note"]

_MOST = 50


class Span(Struct, frozen=True):
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Diagnostic(Struct, frozen=True):
    """One thing that is wrong: what, where, the line itself, and what was expected or what to do. A "warning" does not
    keep the program from being used, nor does a "note", which says what may be meant so. `width` is how many characters
    are meant; 0 means the word that stands at the place."""

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
            # a tab, or any other character that moves the cursor, becomes a space
            shown = "".join(" " if unicodedata.category(char) == "Cc" else char for char in self.source_line[:most])
            out.append(f"  {number} | {shown}{more}")
            out.append(f"  {' ' * len(number)} | {' ' * _width(before)}{'^' * max(1, _width(meant))}")
        if self.hint:
            out.append(f"  {self.hint}")
        return "\n".join(out)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic for editors, flat: its fields, and `file`, `line`, `column` and the `end_column` behind it."""
        plain = plain_data(self)
        del plain["width"]
        end = self.span.column + max(1, self.width, len(self.meant))
        return {**plain.pop("span"), "end_column": end, **plain}


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


class SourceLine(Struct, frozen=True):
    """A line and its place in its file. `shift` columns of `text` are the indentation of an import."""

    text: str
    file: str
    number: int
    shift: int = 0

    def span(self, column: int = 1) -> Span:
        """The place of a column of `text` (from 1) in the file."""
        return Span(self.file, self.number, max(1, column - self.shift))

    @property
    def content_column(self) -> int:
        """The column of the first character that is not a blank."""
        return len(self.text) - len(self.text.lstrip()) + 1


class DiagnosticList:
    """The diagnostics so far; only the first 50 are kept."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._warned: list[Diagnostic] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def at(self, line: SourceLine, message: str, *, column: int | None = None, hint: str = "", width: int = 0) -> None:
        """Add an error at this column, by default at the first character. `width` 0 means the word there."""
        place = line.span(line.content_column if column is None else column)
        self._add(Diagnostic(message, place, line.text[line.shift :], hint, width=width))

    def warn(self, line: SourceLine, message: str, *, column: int | None = None, hint: str = "") -> None:
        """Add a warning, which prevents nothing."""
        place = line.span(line.content_column if column is None else column)
        if len(self._warned) < _MOST:
            self._warned.append(Diagnostic(message, place, line.text[line.shift :], hint, "warning"))

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings, in source order."""
        return tuple(self._warned)

    def at_span(self, span: Span, message: str, *, text: str = "", hint: str = "", word: str = "") -> None:
        """Add an error at a place whose line is not at hand; `word` is the wrong part."""
        at = text.find(word, span.column - 1) if word else -1
        place = span if at < 0 else replace(span, column=at + 1)
        self._add(Diagnostic(message, place, text, hint, width=len(word) if at >= 0 else 0))

    def take(self, errors: Sequence[Diagnostic]) -> None:
        """Add errors that others found."""
        for one in errors:
            self._add(one)

    def errors(self, lines: Mapping[tuple[str, int], str]) -> list[Diagnostic]:
        """The errors in the order of the source. `lines` are those of the source by file and number, for what was found
        where they were not at hand."""
        files = list(dict.fromkeys(d.span.file for d in self._found))
        key = {file: index for index, file in enumerate(files)}
        found = [
            one if one.source_line else replace(one, source_line=lines.get((one.span.file, one.span.line), ""))
            for one in self._found
        ]
        return sorted(found, key=lambda d: (key[d.span.file], d.span.line, d.span.column))

    def stop_if_any(self, lines: Mapping[tuple[str, int], str] | None = None) -> None:
        """Raise ProgramRejected with all errors, as `errors`."""
        if self._found:
            raise ProgramRejected(self.errors(lines or {}))

    def _add(self, diagnostic: Diagnostic) -> None:
        if len(self._found) < _MOST and diagnostic not in self._found:
            self._found.append(diagnostic)
