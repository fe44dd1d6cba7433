"""CommonMark rewritten for a platform: the walk over its tokens, and the rules that all platforms share.

A platform's writer says what its marks are, how it writes links, code and quotations. Lists, tables and the space
between blocks are the same for all.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from typing import ClassVar, Literal
from urllib.parse import urlsplit

import regex
from markdown_it.token import Token

from adapters.markdown.reading import ADDRESS, TooMuchMarkdown, parsed
from adapters.markdown.tables import TableTokens, aligned, table_of

RULE = "———"

MarkKind = Literal["heading", "strong", "em", "s"]
_BARE = ("linkify", "autolink")
_MARKS: dict[str, MarkKind] = {"strong_open": "strong", "em_open": "em", "s_open": "s"}


class MarkdownWriter(ABC):
    """Writes tokens one after the other. Line breaks between blocks wait for the text that follows."""

    INDENT: ClassVar[str]
    BULLET: ClassVar[str] = "•"

    def __init__(self, *, quoted: bool = False) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._lists: list[int | None] = []
        self._quotes = int(quoted)

    def blocks(self, tokens: Sequence[Token]) -> None:
        stream = iter(tokens)
        for token in stream:
            match token.type:
                case "table_open":
                    self._table(table_of(stream))
                    self._break(2)
                case "blockquote_open":
                    self._quotes += 1
                    self._quote(_quoted(stream))
                    self._quotes -= 1
                    self._break(2)
                case "inline":
                    self._inline(token.children or [])
                case "fence" | "code_block":
                    self._code_block(token.content.rstrip("\n"), token.info)
                    self._break(2)
                case "hr":
                    self._write(RULE)
                    self._break(2)
                case _:
                    self._boundary(token)

    @abstractmethod
    def _begin(self, kind: MarkKind) -> None:
        """Start marked text, until `_end`."""

    @abstractmethod
    def _end(self) -> None:
        """End the mark that started last."""

    @abstractmethod
    def _begin_link(self, url: str, *, bare: bool) -> None:
        """Start a link or a mention, until `_end_link`. Of a `bare` one the address is the text."""

    @abstractmethod
    def _end_link(self) -> None: ...

    @abstractmethod
    def _quote(self, tokens: Sequence[Token]) -> None:
        """Write the blocks of a quotation."""

    @abstractmethod
    def _code_block(self, code: str, info: str) -> None:
        """Write lines of code, or of a table, since only code keeps columns; `info` may start with the language."""

    @abstractmethod
    def _code(self, code: str) -> None:
        """Write code within a line."""

    @abstractmethod
    def _plain(self, text: str) -> None:
        """Write text literally, without marks."""

    @abstractmethod
    def _line_break(self) -> None: ...

    def _picture(self, text: str) -> None:
        """Write the words of a link to an image, literally."""
        self._plain(text)

    @classmethod
    def written(cls, tokens: Sequence[Token], *, quoted: bool = False) -> str:
        writer = cls(quoted=quoted)
        writer.blocks(tokens)
        return writer.text()

    def text(self) -> str:
        return "".join(self._parts).rstrip()

    def _write(self, text: str) -> None:
        if text:
            self._flush_breaks()
            self._append(text)

    def _append(self, text: str) -> None:
        self._parts.append(text)

    def _break(self, count: int) -> None:
        self._breaks = max(self._breaks, count)

    def _flush_breaks(self) -> None:
        if self._breaks and self._parts:
            self._append("\n" * self._breaks)
        self._breaks = 0

    def _boundary(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self._heading(int(token.tag[1]))
            case "heading_close":
                self._end()
                self._break(2)
            case "paragraph_close":
                self._break(1 if token.hidden else 2)
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                self._break(1 if self._lists else 2)
            case "list_item_open":
                self._bullet()
            case "list_item_close":
                self._break(1)
            case _:
                pass

    def _heading(self, level: int) -> None:
        self._begin("heading")

    def _bullet(self) -> None:
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        indent = self.INDENT * (len(self._lists) - 1)
        self._write(f"{indent}{self.BULLET if number is None else f'{number}.'} ")

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "strong_open" | "em_open" | "s_open":
                    self._begin(_MARKS[token.type])
                case "strong_close" | "em_close" | "s_close":
                    self._end()
                case "link_open":
                    self._begin_link(str(token.attrs.get("href", "")), bare=token.markup in _BARE)
                case "link_close":
                    self._end_link()
                case "code_inline":
                    self._code(token.content)
                case "softbreak" | "hardbreak":
                    self._line_break()
                case "image":
                    url = str(token.attrs.get("src", ""))
                    self._begin_link(url, bare=False)
                    self._picture(token.content or url)
                    self._end_link()
                case _:
                    self._plain(token.content)

    def _table(self, table: TableTokens) -> None:
        """Write a table as lines of code where they fit a phone, from the first row that does not as lists."""
        lines, count = ("", 0) if self._quotes else aligned(table)
        if lines:
            self._code_block(lines, "")
            self._break(2)
        for row in table.rows[count:] or ([] if lines else [table.head]):
            self._row(table.head if table.rows else [()] * len(row), row)

    def _row(self, head: Sequence[Sequence[Token]], row: Sequence[Sequence[Token]]) -> None:
        """Write a row: its first cell as an entry of a list, the others below it, under their columns' names."""
        self._lists.append(None)
        self._bullet()
        for number, (name, cell) in enumerate(zip(head, row, strict=True)):
            if number and not cell:
                continue
            if number:
                self._line_break()
                self._write(self.INDENT * len(self._lists))
            if name:
                self._inline(name)
                self._plain(": ")
            self._inline(cell)
        self._lists.pop()
        self._break(1)


def is_link(url: str, schemes: Container[str]) -> bool:
    """Whether a platform that knows these schemes accepts it as a link's target."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.netloc or parts.path)


def _quoted(stream: Iterator[Token]) -> list[Token]:
    """The content of a quotation that has started, with other quotations in it."""
    inner: list[Token] = []
    depth = 1
    for token in stream:
        depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if not depth:
            break
        inner.append(token)
    return inner


_LITERAL = regex.compile(rf"(?P<kept>{ADDRESS.pattern})|[\\`*_\[\]<>~|&$@]", ADDRESS.flags)
_LITERAL_START = re.compile(r"^([ \t]*)([#+-]|\d+(?=[.)]))", re.MULTILINE)


def plain(text: str) -> str:
    """The words of `text` without formatting, as CommonMark that shows every character literally."""
    return _LITERAL_START.sub(_escape_start, _LITERAL.sub(_escaped, _without_marks(text)))


def _without_marks(text: str) -> str:
    try:
        tokens = parsed(text)
    except TooMuchMarkdown:
        return text
    pieces: list[str] = []
    for token in tokens:
        if token.type == "inline":
            pieces.append(_plain_inline(token.children or []))
        elif token.type in {"fence", "code_block"}:
            pieces.append(token.content.rstrip("\n"))
    return "\n\n".join(filter(None, pieces))


def _escaped(found: regex.Match[str]) -> str:
    return found["kept"] or f"\\{found[0]}"


def _escape_start(found: re.Match[str]) -> str:
    mark = found[2]
    return f"{found[1]}\\{mark}" if not mark.isdecimal() else found[0]


def _plain_inline(tokens: list[Token]) -> str:
    targets: list[str] = []
    pieces: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            targets.append(str(token.attrGet("href") or ""))
        elif token.type == "link_close":
            target = targets.pop()
            pieces.append("" if pieces and pieces[-1] == target else f" ({target})")
        elif token.type in {"softbreak", "hardbreak"}:
            pieces.append("\n")
        else:
            pieces.append(token.content)
    return "".join(pieces)
