"""CommonMark as Slack's mrkdwn. Pure.

mrkdwn knows no backslash: `&`, `<` and `>` are escaped, so no text becomes a mention, a ping or a link by itself. Marks
count only at the edge of a word, so a zero-width space stands where CommonMark allows them inside one; and they end
with the line, so they are closed and opened again around a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.slack.escaping import escape, full_width, is_link, link_target, utf16_length
from adapters.slack.mentioning import person_of

_BULLET = "•"
_RULE = "———"
_EDGE = "\u200b"
_MARKS = {"strong_open": "*", "em_open": "_", "s_open": "~"}
_BARE_URL = re.compile(r"https?://[^\s<>|\"']*[^\s<>|\"'.,;:!?)\]}*_~]")

# Without setext headings: a line of dashes that arrives under growing text would turn the text bold for a moment.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["lheading", "html_block"])
)


def render(markdown: str, room: int) -> str:
    """The text in mrkdwn, at most `room` UTF-16 units where `markdown` itself has no more.

    Never fails: what cannot be formatted is shown as it is written; where even its escapes are too long, the three
    escaped characters are shown in full width.
    """
    source = markdown.encode("utf-8", "replace").decode("utf-8")
    for shown in (_formatted(source), escape(source)):
        if shown and utf16_length(shown) <= room:
            return shown
    return full_width(source)


def _formatted(source: str) -> str:
    try:
        return _Writer().blocks(_PARSER.parse(source)).text()
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return ""


@dataclass(slots=True)
class _Mark:
    """A mark that was opened. `sign` is empty where an equal one is open around it."""

    sign: str
    begins_at: int = 0


@dataclass(slots=True)
class _Link:
    """A link that was opened: its target, and whether Slack takes that as one."""

    url: str
    shown: bool
    mention: bool = False


class _Writer:
    """Writes tokens one after the other; line breaks between blocks wait until there is text after them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._marks: list[_Mark] = []
        self._lists: list[int | None] = []
        self._links: list[_Link] = []
        self._at_edge = False

    def text(self) -> str:
        return "".join(self._parts).rstrip()

    def blocks(self, tokens: Sequence[Token]) -> _Writer:
        stream = iter(tokens)
        for token in stream:
            if token.type == "table_open":
                self._table(stream)
            elif token.type == "blockquote_open":
                self._quote(stream)
            elif token.type == "inline":
                self._inline(token.children or [])
            elif token.type in ("fence", "code_block"):
                self._code_block(token.content)
            elif token.type == "hr":
                self._write(_RULE)
                self._break(2)
            else:
                self._boundary(token)
        return self

    def _boundary(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self._flush_breaks()
                self._begin("*")
            case "heading_close":
                self._end()
                self._break(2)
            case "paragraph_close":
                self._break(1 if token.hidden else 2)
            case _:
                self._list_boundary(token)

    def _list_boundary(self, token: Token) -> None:
        match token.type:
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
        indent = "    " * (len(self._lists) - 1)
        self._write(f"{indent}{_BULLET if number is None else f'{number}.'} ")

    def _quote(self, stream: Iterator[Token]) -> None:
        """A quotation is written apart and each of its lines marked."""
        inner: list[Token] = []
        depth = 1
        for token in stream:
            depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
            if not depth:
                break
            inner.append(token)
        lines = _Writer().blocks(inner).text().split("\n")
        self._write("\n".join(line if line.startswith(">") else f"> {line}".rstrip() for line in lines))
        self._break(2)

    def _code_block(self, code: str) -> None:
        self._write("```\n" + escape(code.rstrip("\n").replace("```", f"`{_EDGE}`{_EDGE}`")) + "\n```")
        self._break(2)

    def _table(self, stream: Iterator[Token]) -> None:
        """A table keeps its columns only in a fixed-width font."""
        rows: list[list[str]] = []
        for token in stream:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(_bare_text(token))
        self._code_block(_columns(rows))

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "strong_open" | "em_open" | "s_open":
                    self._begin(_MARKS[token.type])
                case "link_open":
                    self._begin_link(str(token.attrs.get("href", "")))
                case "strong_close" | "em_close" | "s_close":
                    self._end()
                case "link_close":
                    self._end_link()
                case "code_inline":
                    self._code(token.content)
                case "softbreak" | "hardbreak":
                    self._line_break()
                case "image":
                    url = str(token.attrs.get("src", ""))
                    self._begin_link(url)
                    self._write(escape(token.content or url))
                    self._end_link()
                case _:
                    self._plain(token.content)

    def _plain(self, text: str) -> None:
        """Addresses in it become links, which Slack would not make by itself of a text that pings nobody."""
        position = 0
        for found in () if self._links else _BARE_URL.finditer(text):
            self._write(escape(text[position : found.start()]) + f"<{link_target(found.group())}>")
            position = found.end()
        self._write(escape(text[position:]))

    def _code(self, code: str) -> None:
        """A backtick inside would end the code: a grave accent stands for it."""
        self._before_mark()
        self._write("`" + escape(code.replace("`", "\u02cb")) + "`")
        self._at_edge = True

    def _line_break(self) -> None:
        """Inside a link there is none."""
        if self._links:
            self._write(" ")
            return
        open_marks = [mark for mark in self._marks if mark.sign]
        for mark in reversed(open_marks):
            self._close(mark)
        self._append("\n")
        for mark in open_marks:
            self._open(mark)

    def _begin(self, sign: str) -> None:
        around = any(mark.sign == sign for mark in self._marks)
        mark = _Mark("" if around else sign)
        self._marks.append(mark)
        self._open(mark)

    def _end(self) -> None:
        self._close(self._marks.pop())

    def _open(self, mark: _Mark) -> None:
        if mark.sign:
            self._flush_breaks()
            self._before_mark()
            self._parts.append(mark.sign)
        mark.begins_at = len(self._parts)

    def _close(self, mark: _Mark) -> None:
        if not mark.sign:
            return
        if len(self._parts) == mark.begins_at:
            self._parts.pop()
        else:
            self._parts.append(mark.sign)
            self._at_edge = True

    def _begin_link(self, url: str) -> None:
        mention = person_of(url)
        if mention is not None:
            self._before_mark()
            self._append(mention)
            self._links.append(_Link("", shown=False, mention=True))
            return
        link = _Link(url, shown=not self._links and is_link(url))
        self._links.append(link)
        if link.shown:
            self._flush_breaks()
            self._append(f"<{link_target(url)}|")

    def _end_link(self) -> None:
        link = self._links.pop()
        if link.shown:
            self._parts.append(">")
        elif link.url and not self._links:
            self._write(f" ({escape(link.url)})")

    def _before_mark(self) -> None:
        self._flush_breaks()
        before = self._parts[-1][-1:] if self._parts else ""
        if before.isalnum():
            self._parts.append(_EDGE)

    def _write(self, text: str) -> None:
        """What stands inside a mention is the name, which Slack shows by itself."""
        if text and not any(link.mention for link in self._links):
            self._flush_breaks()
            self._append(text)

    def _append(self, text: str) -> None:
        if self._at_edge and text[0].isalnum():
            self._parts.append(_EDGE)
        self._at_edge = False
        self._parts.append(text)

    def _break(self, count: int) -> None:
        self._breaks = max(self._breaks, count)

    def _flush_breaks(self) -> None:
        if self._breaks and self._parts:
            self._append("\n" * self._breaks)
        self._breaks = 0


def _bare_text(token: Token) -> str:
    return "".join(" " if child.type.endswith("break") else child.content for child in token.children or [])


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)
