"""The lists of a playbook laid out: a dash for a mark, and what belongs to an item below its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.language.syntax.listing import is_item, is_rule, item_parts
from runtime.language.syntax.parser import is_setting
from runtime.language.syntax.source import is_import

_DASH = "-"
_BULLETS = ("*", "+", _DASH)
_NESTED = 2
"""The columns by which an item is indented below another, at least, to belong to it."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An item that more may belong to: where it began, where it begins now, and where its words begin."""

    before: int
    now: int
    words: int


@dataclass(slots=True)
class ListLayout:
    """One list, row by row, read as the language reads it."""

    _open: list[_Open] = field(default_factory=list)
    _after_blank: bool = False

    def blank(self) -> None:
        """Take a blank row, or one without words, such as a comment."""
        self._after_blank = True

    def line(self, row: str) -> str:
        """A row that is not blank."""
        text = row.expandtabs(4).rstrip()
        if is_rule(text) or is_setting(text):
            return text
        after_blank, self._after_blank = self._after_blank, False
        parts = item_parts(text)
        if parts is not None:
            indent, mark, words = parts
            return self._begun(indent, _DASH if mark in _BULLETS else mark, words)
        if is_import(text):
            return self._begun(len(text) - len(text.lstrip()), "", text.strip())
        return self._continued(text, after_blank=after_blank)

    def fence(self, rows: Sequence[str]) -> Sequence[str]:
        """The rows of a fence: moved along with the item that it is indented below, else as they are."""
        indent = len(rows[0]) - len(rows[0].lstrip(" "))
        above = next((one for one in reversed(self._open) if indent >= one.before + _NESTED), None)
        by = 0 if above is None else above.now - above.before
        if by < 0 and any(row.strip() and not row.startswith(" " * -by) for row in rows):
            return rows
        return [" " * by + row if by > 0 and row.strip() else row[-by:] if by < 0 else row for row in rows]

    def _begun(self, indent: int, mark: str, words: str) -> str:
        while self._open and indent < self._open[-1].before + _NESTED:
            self._open.pop()
        now = self._open[-1].words if self._open else 0
        self._open.append(_Open(indent, now, now + (len(mark) + 1 if mark else _NESTED)))
        return " " * now + f"{mark} {words}".strip()

    def _continued(self, text: str, *, after_blank: bool) -> str:
        if not self._open or (text[0] != " " and after_blank):
            return text
        moved = " " * self._open[-1].words + text.strip()
        return text if is_item(moved) or is_setting(moved) else moved
