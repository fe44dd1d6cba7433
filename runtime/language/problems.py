"""Collection of errors, so that an author sees all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span

_MOST = 50


@dataclass(frozen=True, slots=True)
class SourceLine:
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


class Problems:
    """The diagnostics so far; only the first 50 are kept."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._warned: list[Diagnostic] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def at(self, line: SourceLine, message: str, *, column: int | None = None, hint: str = "", width: int = 0) -> None:
        """Add an error at this column of the line, by default at its first character.

        `width` is the number of wrong characters; 0 means the word there.
        """
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

    def stop_if_any(self, lines: Mapping[tuple[str, int], str] | None = None) -> None:
        """Raise ProgramRejected with everything found, in the order of the source.

        `lines` are those of the source by file and number, for what was found where they were not at hand.
        """
        if self._found:
            files = list(dict.fromkeys(d.span.file for d in self._found))
            key = {file: index for index, file in enumerate(files)}
            found = [self._with_line(one, lines or {}) for one in self._found]
            raise ProgramRejected(sorted(found, key=lambda d: (key[d.span.file], d.span.line, d.span.column)))

    def _with_line(self, found: Diagnostic, lines: Mapping[tuple[str, int], str]) -> Diagnostic:
        line = lines.get((found.span.file, found.span.line), "")
        return found if found.source_line else replace(found, source_line=line)

    def _add(self, diagnostic: Diagnostic) -> None:
        if len(self._found) < _MOST and diagnostic not in self._found:
            self._found.append(diagnostic)
