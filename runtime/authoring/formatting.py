"""Programs laid out in one way: headings, lists and blank lines. No word changes, and nothing that a program means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from runtime.core.errors import ParleyError
from runtime.language.compiler import compile_parsed
from runtime.language.diagnostics import Diagnostic, DiagnosticList, ProgramRejected, Span
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.blocks import HEADING, Block, FencedBlock, HeadingLine, TextLine, first_line, scan
from runtime.language.syntax.listing import is_item, is_rule, item_parts
from runtime.language.syntax.parser import is_list_heading, is_setting, parse
from runtime.language.syntax.source import is_import, own_lines, read_text, rows_of

_MOST_LEVEL_APART = 2
"""Agents and playbooks stand below a blank line; the sections of a playbook need none."""

_DASH = "-"
_BULLETS = ("*", "+", _DASH)
_NESTED = 2
"""The columns by which an item is indented below another, at least, to belong to it."""


def formatted(text: str, file: str) -> str:
    """A program's text, laid out. Raises ProgramRejected where a fence or a comment is never closed. Frontmatter,
    fences, comments, tables and indented lines stay as they are to the character, and lines keep the ends that they
    have (LF or CRLF)."""
    problems = DiagnosticList()
    lines = own_lines(text, file)
    blocks = scan(lines, problems)
    problems.stop_if_any()
    rows = rows_of(text)
    hidden = [number for number, line in enumerate(lines, 1) if line.text != rows[number - 1]]
    layout = _Layout(rows[: max(hidden, default=0)])  # the shebang and the frontmatter
    for piece in _pieces(rows, blocks, len(layout.rows)):
        layout.take(piece)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    end = "\r\n" if "\r\n" in text else "\n"
    return mark + "".join(row + end for row in layout.rows)


async def formatted_program(text: str, file: str) -> str:
    """A program's text, laid out, which compiles to the same as before. Raises ProgramRejected where a fence or a
    comment is never closed, and where the same could not be kept."""
    new = formatted(text, file)
    if new != text and await _compiled(new, file) != (before := await _compiled(text, file)) and before is not None:
        hint = "It is left as it is. This is a fault of Parley: please report it with the program."
        raise ProgramRejected([Diagnostic("formatting would change what this means", Span(file, 1), hint=hint)])
    return new


async def _compiled(text: str, file: str) -> str | None:
    """A text as PBAsm; None for one that is no whole program."""
    try:
        return (await compile_parsed(parse(read_text(text, file)), lowerer=RulesLowerer())).program.pbasm
    except (ParleyError, RecursionError):
        return None


class _Piece(Struct, frozen=True):
    """Rows that belong together, and what the language reads there: None for those of a comment."""

    rows: Sequence[str]
    block: Block | None

    @property
    def read(self) -> str:
        """What the language reads of a row of text, without comments."""
        return self.block.line.text if isinstance(self.block, TextLine) else ""

    @property
    def comment(self) -> bool:
        return self.block is None or (isinstance(self.block, TextLine) and not self.read.strip() and bool(self.rows[0]))


def _pieces(rows: Sequence[str], blocks: Sequence[Block], start: int) -> Iterator[_Piece]:
    by_row = {first_line(block).number - 1: block for block in blocks}
    at = start
    while at < len(rows):
        block = by_row.get(at)
        count = len(block.lines) + 2 if isinstance(block, FencedBlock) else 1
        yield _Piece(rows[at : at + count], block)
        at += count


class _Layout(Struct):
    """The rows so far. Blank rows wait until it is known what follows them."""

    rows: list[str] = field(default_factory=list)
    _blank: int = 0
    _list: ListLayout | None = None
    _above: _Piece | None = None

    def take(self, piece: _Piece) -> None:
        """Take the next piece."""
        if isinstance(piece.block, TextLine) and not piece.rows[0].strip():
            self._blank += 1
            if self._list is not None:
                self._list.blank()
            return
        rows = self._laid_out(piece)
        self.rows += [""] * self._apart(piece, rows[0])
        self.rows += rows
        self._blank, self._above = 0, piece

    def _laid_out(self, piece: _Piece) -> Sequence[str]:
        row = piece.rows[0]
        if isinstance(piece.block, HeadingLine):
            self._list = ListLayout() if is_list_heading(piece.block) else None
            return [_heading(row)]
        if self._list is None:
            return piece.rows if len(piece.rows) > 1 or row[:1] in (" ", "\t") else [row.rstrip()]
        if isinstance(piece.block, FencedBlock):
            return self._list.fence(piece.rows)
        if piece.comment:
            self._list.blank()
            return piece.rows
        return [self._list.line(row) if row.lstrip().startswith(piece.read.split(maxsplit=1)[0]) else row]

    def _apart(self, piece: _Piece, row: str) -> int:
        """How many blank rows stand above a piece."""
        above = self._above
        if above is None:
            return min(self._blank, 1) if self.rows else 0
        if isinstance(piece.block, HeadingLine) and piece.block.level <= _MOST_LEVEL_APART:
            return 1 if self._blank or not above.comment else 0
        if isinstance(above.block, HeadingLine) and is_list_heading(above.block):
            return 0
        verbatim = piece.block is None or (self._list is None and row[:1] in (" ", "\t"))
        return self._blank if verbatim else min(self._blank, 1)


def _heading(row: str) -> str:
    match = None if "<!--" in row else HEADING.match(row)
    return row.rstrip() if match is None else f"{match[1]} {match[2] or ''}".rstrip()


class _Open(Struct, frozen=True):
    """An item that more may belong to: where it began, where it begins now, and where its words begin."""

    before: int
    now: int
    words: int


class ListLayout(Struct):
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
