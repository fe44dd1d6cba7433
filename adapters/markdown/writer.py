"""CommonMark rewritten for a platform: the walk over its tokens, and the rules that all platforms share.

A platform's writer says what its marks are, how it writes links, code and quotations. Lists, tables and the space
between blocks are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.markdown.bounds import check_bounds

RULE = "———"
_BULLET = "•"

MarkKind = Literal["heading", "strong", "em", "s"]
_MARKS: dict[str, MarkKind] = {"strong_open": "strong", "em_open": "em", "s_open": "s"}

# Without setext headings: a line of dashes that arrives under growing text would turn the text bold for a moment.
PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["lheading", "html_block"])
)


def parsed(markdown: str) -> list[Token]:
    """The blocks of a text. Raises TooMuchMarkdown."""
    check_bounds(markdown)
    return PARSER.parse(markdown)


class MarkdownWriter(ABC):
    """Writes tokens one after the other. Line breaks between blocks wait for the text that follows."""

    INDENT: ClassVar[str]
    """The indentation of a list inside a list."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._lists: list[int | None] = []

    def blocks(self, tokens: Sequence[Token]) -> None:
        """Write the blocks of a text."""
        stream = iter(tokens)
        for token in stream:
            match token.type:
                case "table_open":
                    self._code_block(columns(table_rows(stream)), "")
                    self._break(2)
                case "blockquote_open":
                    self._quote(_quoted(stream))
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
    def _begin_link(self, url: str) -> None:
        """Start a link or a mention, until `_end_link`."""

    @abstractmethod
    def _end_link(self) -> None: ...

    @abstractmethod
    def _quote(self, tokens: Sequence[Token]) -> None:
        """Write the blocks of a quotation."""

    @abstractmethod
    def _code_block(self, code: str, info: str) -> None:
        """Write lines of code; `info` may start with the language. Tables come here too, since only code keeps columns
        aligned.
        """

    @abstractmethod
    def _code(self, code: str) -> None:
        """Write code within a line."""

    @abstractmethod
    def _plain(self, text: str) -> None:
        """Write text literally, without marks."""

    @abstractmethod
    def _line_break(self) -> None: ...

    def _write(self, text: str) -> None:
        """Write text in the platform's own form."""
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
                self._begin("heading")
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

    def _bullet(self) -> None:
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        indent = self.INDENT * (len(self._lists) - 1)
        self._write(f"{indent}{_BULLET if number is None else f'{number}.'} ")

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "strong_open" | "em_open" | "s_open":
                    self._begin(_MARKS[token.type])
                case "strong_close" | "em_close" | "s_close":
                    self._end()
                case "link_open":
                    self._begin_link(str(token.attrs.get("href", "")))
                case "link_close":
                    self._end_link()
                case "code_inline":
                    self._code(token.content)
                case "softbreak" | "hardbreak":
                    self._line_break()
                case "image":
                    self._image(token.content, str(token.attrs.get("src", "")))
                case _:
                    self._plain(token.content)

    def _image(self, text: str, url: str) -> None:
        """Write an image as a link to it."""
        self._begin_link(url)
        self._picture(text or url)
        self._end_link()

    @abstractmethod
    def _picture(self, text: str) -> None:
        """Write the words of a link to an image, literally."""


def table_rows(stream: Iterator[Token]) -> list[list[str]]:
    """The cells of a table without formatting; consumes its tokens up to its end."""
    rows: list[list[str]] = []
    for token in stream:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_bare_text(token))
    return rows


def columns(rows: Sequence[Sequence[str]]) -> str:
    """A table as lines for a fixed-width font, which alone keeps its columns aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


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


def _bare_text(token: Token) -> str:
    return "".join(" " if child.type.endswith("break") else child.content for child in token.children or [])
