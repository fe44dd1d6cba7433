"""Nested Markdown lists: steps, triggers and notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct, field

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.syntax.blocks import Block, FencedBlock, TextLine
from runtime.language.syntax.nodes import ListItem
from runtime.language.syntax.source import is_compiled

MAX_DEPTH = 20
MAX_CHARS = 4_000
"""The longest step or trigger; there is always a shorter way to say it, and reading a longer one may take very long."""
MAX_SPACES = 40
_DEEPEST_HEADING = 6
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)]|(?<=\s)[a-z][.)](?=[ \t]+\S))(?:[ \t]+(.*))?$")
_BEFORE_MORE = (",", ":", ";", "(", "-", "\u2014", " and", " or", " the")
"""How a line ends behind which a capital begins no new sentence."""
_DASHES = "-*+\u2022\u2013\u2014\u00b7\u25aa\u25cf\u2023"
_GLUED = re.compile(r"\s*(?:-(?=[A-Z])|[\u2022\u2013\u2014\u00b7\u25aa\u25cf\u2023]\s*)(?=\w)")
"""A line that its author means as an item: a dash without a space after it, or another mark."""


def is_rule(text: str) -> bool:
    """Whether a line is a thematic break: `---`, `***` or `___`."""
    marks = "".join(text.split())
    return len(marks) > 2 and {*marks} <= {marks[0]} <= {*"-*_"}


def _is_heading(text: str) -> bool:
    marks, space, _ = text.lstrip().partition(" ")
    return space != "" and 0 < len(marks) <= _DEEPEST_HEADING and not marks.strip("#") and text[:4].strip() != ""


def item_parts(text: str) -> tuple[int, str, str] | None:
    """The indentation, the mark and the words of a line that starts an item; None for any other."""
    match = None if is_rule(text) else _ITEM.match(text)
    if match is None:
        return None
    words = match[2] or ""
    return len(match[1]), text[len(match[1]) : len(text) - len(words)].strip(), words.strip()


def is_item(text: str) -> bool:
    """Whether a line starts an item of a list."""
    return item_parts(text) is not None


class _Item(Struct):
    indent: int
    line: SourceLine
    column: int
    words: list[str]
    children: list[_Item] = field(default_factory=list)


def read_list(blocks: Sequence[Block], what: str, problems: DiagnosticList) -> tuple[ListItem, ...]:
    """The items of a list. A line that goes on is joined to its item; text outside the list is noted as a problem. An
    item indented by two or more columns below another is its child. `what` names the items in messages."""
    reader = _ListReader(what, problems)
    for block in blocks:
        if isinstance(block, TextLine):
            reader.take(block.line)
        elif isinstance(block, FencedBlock):
            reader.take_fence(block)
    return tuple(map(reader.finished, reader.root))


class _ListReader:
    def __init__(self, what: str, problems: DiagnosticList) -> None:
        self.root: list[_Item] = []
        self._what = what
        self._problems = problems
        self._open: list[_Item] = []
        self._after_blank = False

    def take(self, line: SourceLine) -> None:
        text = line.text.expandtabs(4)
        if not text.strip():
            self._after_blank = True
        elif not is_rule(text):
            if match := _ITEM.match(text):
                self._begin(line, match)
            else:
                self._go_on(line, text)
            self._after_blank = False

    def take_fence(self, fence: FencedBlock) -> None:
        if self._open:
            self._open[-1].words += [line.text.strip() for line in (fence.opening, *fence.lines, fence.closing)]

    def finished(self, item: _Item) -> ListItem:
        """An item with those below it. One that is too long to be read is noted as a problem."""
        text, line = " ".join(filter(None, item.words)), item.line
        children = tuple(map(self.finished, item.children))
        done = ListItem(text, line.span(item.column), children, line.text[line.shift :])
        if self._what == "note" or is_compiled(item.line.file):
            return done
        if any(blank and len([*run]) > MAX_SPACES for blank, run in groupby(done.text, str.isspace)):
            message = f"this {self._what} has more than {MAX_SPACES} spaces in a row"
            self._problems.at(item.line, message, column=item.column, hint="Write one space between two words.")
        elif len(done.text) > MAX_CHARS:
            message = f"this {self._what} has {len(done.text):,} characters, and a {self._what} may have {MAX_CHARS:,}"
            self._problems.at(item.line, message, column=item.column, hint=f"Split it into several {self._what}s.")
        return done

    def _begin(self, line: SourceLine, match: re.Match[str]) -> None:
        indent, text = len(match[1]), (match[2] or "").strip()
        while self._open and indent < self._open[-1].indent + 2:
            self._open.pop()
        item = _Item(indent, line, line.text.find(text) + 1 if text else line.content_column, [text])
        if not text:
            self._problems.at(line, f"this {self._what} is empty")
        elif _is_heading(text):
            self._problems.at(line, "a heading cannot be in a list", column=item.column)
        if len(self._open) >= MAX_DEPTH:
            self._problems.at(line, f"a list may be {MAX_DEPTH} levels deep")
            return
        (self._open[-1].children if self._open else self.root).append(item)
        self._open.append(item)

    def _go_on(self, line: SourceLine, text: str) -> None:
        if _is_heading(text):
            hint = f"Write it as a {self._what}, with what belongs to it indented below."
            self._problems.at(line, "a heading cannot be in a list", hint=hint)
        elif self._open and (text[0] == " " or not self._after_blank) and not _GLUED.match(text):
            goes_on = self._open[-1].words[-1].endswith(_BEFORE_MORE)
            if text[0] != " " or (text.strip()[0].isupper() and not goes_on):  # it looks like an item without its dash
                which = f"{self._what} {len(self.root)}" if len(self._open) == 1 else f"the {self._what} above"
                hint = f"Start it with a dash if it is a {self._what} of its own: - {text.strip()}"
                self._problems.warn(line, f"this line continues {which}", hint=hint)
            self._open[-1].words.append(text.strip())
        else:
            blank = " and a space" if _GLUED.match(text) else ""
            hint = f"Start it with a dash{blank}: - {text.strip().lstrip(_DASHES).lstrip()}"
            message = f"expected a {self._what}, found text outside the list"
            self._problems.at(line, message, hint=hint, width=len(line.text.strip()))
