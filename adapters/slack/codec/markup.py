"""CommonMark as Slack's mrkdwn. Pure.

mrkdwn knows no backslash: `&`, `<` and `>` are escaped, so no text becomes a mention, a ping or a link by itself. Marks
count only at the edge of a word, so a zero-width space stands where CommonMark allows them inside one; and they end
with the line, so they are closed and opened again around a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it.token import Token
from msgspec import Struct

from adapters.capabilities import measure_utf16
from adapters.markdown.reading import parsed
from adapters.markdown.tables import Cell, TableTokens, table_of
from adapters.markdown.writer import MarkdownWriter, MarkKind, is_link
from adapters.slack.codec.mentions import FULL_WIDTH, SCHEMES, escape, link_target, person_of
from adapters.slack.limits import MAX_TABLE_CHARS, MAX_TABLE_COLUMNS, MAX_TABLE_ROWS

_EDGE = "\u200b"
_SIGNS: dict[MarkKind, str] = {"heading": "*", "strong": "*", "em": "_", "s": "~"}
_LITERAL = {"*": "\ufdd0", "_": "\ufdd1", "~": "\ufdd2", "`": "\ufdd3"}
"""Stand-ins for signs that are no marks, until their line is written; they are no characters (Unicode 23.7)."""
_LITERAL_OF = {stand_in: sign for sign, stand_in in _LITERAL.items()}
_STAND_INS = str.maketrans(_LITERAL)
_NO_MARKS = re.compile(r"`[^`]*`|<[^<>|]*")
"""Code and targets of links, in which Slack reads no marks."""
_ALIKE = {"*": "\u2217", "_": "\u02cd", "~": "\u223c", "`": "\u02cb"}
"""What looks like a sign and is no mark."""
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


def render(markdown: str, room: int) -> str:
    """The text in mrkdwn, at most `room` UTF-16 units; where escapes are too long as written, or in full width."""
    source = markdown.encode("utf-8", "replace").decode("utf-8")
    for shown in (_formatted(source), escape(source)):
        if shown and measure_utf16(shown) <= room:
            return shown
    return source.translate(FULL_WIDTH)


def render_parts(markdown: str, room: int) -> list[str | dict[str, Any]]:
    """The text around its first table as by `render`, and the table as a block, if Slack takes it."""
    whole: list[str | dict[str, Any]] = [render(markdown, room)]
    if "|" not in markdown:
        return whole
    try:
        tokens = parsed(markdown.encode("utf-8", "replace").decode("utf-8"))
        begin = next((at for at, token in enumerate(tokens) if token.type == "table_open" and not token.level), None)
        if begin is None:
            return whole
        end = next(at for at in range(begin, len(tokens)) if tokens[at].type == "table_close") + 1
        block = table_block(table_of(iter(tokens[begin + 1 : end])))
        around = [_Writer.written(tokens[:begin]), _Writer.written(tokens[end:])]
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, it is a text
        return whole
    if block is None or any(measure_utf16(text) > room for text in around):
        return whole
    return [part for part in (around[0], block, around[1]) if part]


def _formatted(source: str) -> str:
    try:
        return _Writer.written(parsed(source))
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return ""


class _Mark(Struct):
    """A mark that was opened. `sign` is empty inside an equal one."""

    sign: str
    begins_at: int = 0


class _Link(Struct):
    """A link that was opened: its target, and whether Slack accepts it. Of a `complete` one the label is written."""

    url: str
    shown: bool
    complete: bool = False


class _Writer(MarkdownWriter):
    """Closes marks and opens them again where mrkdwn would lose them."""

    INDENT = "    "

    def __init__(self, *, quoted: bool = False) -> None:
        super().__init__(quoted=quoted)
        self._marks: list[_Mark] = []
        self._links: list[_Link] = []
        self._at_edge = False

    def text(self) -> str:
        return "\n".join(map(_settled, "".join(self._parts).rstrip().split("\n")))

    def _quote(self, tokens: Sequence[Token]) -> None:
        """Write a quotation separately and mark each of its lines, but those of code, which would show the marks."""
        lines, code = _Writer.written(tokens, quoted=True).split("\n"), False
        for number, line in enumerate(lines):
            code ^= line == "```"
            bare = code or line == "```" or line.startswith(">")
            lines[number] = line if bare else f"> {line}".rstrip()
        self._write("\n".join(lines))

    def _code_block(self, code: str, info: str) -> None:
        self._write("```\n" + escape(code.replace("```", f"`{_EDGE}`{_EDGE}`")) + "\n```")

    def _plain(self, text: str) -> None:
        self._write(escape(text).translate(_STAND_INS))

    def _code(self, code: str) -> None:
        """Write code with a grave accent for each backtick, since a backtick would end it."""
        self._before_mark()
        self._write("`" + escape(code.replace("`", "\u02cb")) + "`")
        self._at_edge = True

    def _line_break(self) -> None:
        """Write a line break, except inside a link."""
        if self._links:
            self._write(" ")
            return
        open_marks = [mark for mark in self._marks if mark.sign]
        for mark in reversed(open_marks):
            self._close(mark)
        self._append("\n")
        for mark in open_marks:
            self._open(mark)

    def _begin(self, kind: MarkKind) -> None:
        sign = _SIGNS[kind]
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

    def _begin_link(self, url: str, *, bare: bool) -> None:
        mention = person_of(url)
        if mention is not None:
            self._before_mark()
            self._append(mention)
            self._links.append(_Link("", shown=False, complete=True))
            return
        leads = is_link(url, SCHEMES)
        complete = bare and leads and url.startswith("http")
        told = url.startswith("person:") or (bare and not leads)
        link = _Link("" if told else url, shown=not self._links and leads, complete=complete)
        self._links.append(link)
        if link.shown:
            self._flush_breaks()
            self._append(f"<{link_target(url)}" + ("" if complete else "|"))

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
        """Write text. Inside a mention or an address, write nothing: Slack shows the name itself."""
        if not any(link.complete for link in self._links):
            super()._write(text)

    def _append(self, text: str) -> None:
        if self._at_edge and text[0].isalnum():
            self._parts.append(_EDGE)
        self._at_edge = False
        super()._append(text)

    def _picture(self, text: str) -> None:
        self._write(escape(text))


def _settled(line: str) -> str:
    """The line with its literal signs: themselves where Slack takes them for such, else what looks like them."""
    for stand_in, sign in _LITERAL_OF.items():
        if stand_in not in line:
            continue
        read = _NO_MARKS.sub(lambda found: "`" * len(found[0]), line).replace(stand_in, sign)
        opening = [at for at in range(len(read)) if read[at] == sign and _may_open(read, at)]
        closing = [at for at in range(len(read)) if read[at] == sign and _may_close(read, at)]
        first, last = (opening[0] if opening else len(read)), (closing[-1] if closing else -1)
        paired = {at for at in opening if at < last} | {at for at in closing if at > first}
        if sign == "`" and read.count(sign) > 1:  # which begins code anywhere
            paired = {at for at, char in enumerate(line) if char == stand_in}
        line = "".join(
            char if char != stand_in else _ALIKE[sign] if at in paired else sign for at, char in enumerate(line)
        )
    return line


def _may_open(line: str, at: int) -> bool:
    return not line[at - 1 : at].isalnum() and not line[at + 1 : at + 2].isspace() and at + 1 < len(line)


def _may_close(line: str, at: int) -> bool:
    return at > 0 and not line[at - 1].isspace() and not line[at + 1 : at + 2].isalnum()


def table_block(table: TableTokens) -> dict[str, Any] | None:
    """The block; None for a table that is too large for one."""
    rows = [table.head, *table.rows]
    if len(rows) > MAX_TABLE_ROWS or len(table.head) > MAX_TABLE_COLUMNS:
        return None
    cells = [[list(_pieces(cell)) or [_text(" ", {})] for cell in row] for row in rows]
    if sum(_length(piece) for row in cells for cell in row for piece in cell) > MAX_TABLE_CHARS:
        return None
    settings = [{"align": align or "left", "is_wrapped": True} for align in table.aligns]
    return {"type": "table", "rows": [[_cell(cell) for cell in row] for row in cells], "column_settings": settings}


def _cell(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def _length(piece: dict[str, Any]) -> int:
    return len(piece.get("text", "")) + len(piece.get("url", "")) + len(piece.get("user_id", ""))


def _text(text: str, style: dict[str, bool]) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": dict(style)} if style else {})}


def _pieces(cell: Cell) -> Iterator[dict[str, Any]]:
    style: dict[str, bool] = {}
    targets: list[str] = []
    for token in cell:
        kind, _, edge = token.type.rpartition("_")
        if kind == "link":
            yield from _link_edge(token, targets)
        elif kind in _STYLES:
            others = {one: True for one in style if one != _STYLES[kind]}
            style = others | {_STYLES[kind]: True} if edge == "open" else others
        else:
            yield from _words(token, style, targets[-1] if targets else "")


def _link_edge(token: Token, targets: list[str]) -> Iterator[dict[str, Any]]:
    """Note where a link begins; a mention is written there, a target that Slack refuses where the link ends."""
    if token.nesting > 0:
        target = str(token.attrs.get("href", ""))
        targets.append("" if token.markup == "autolink" and not is_link(target, SCHEMES) else target)
        if (person := person_of(target)) is not None:
            yield {"type": "user", "user_id": person[2:-1]}
    elif (target := targets.pop()) and not is_link(target, SCHEMES) and not target.startswith("person:"):
        yield _text(f" ({target})", {})


def _words(token: Token, style: dict[str, bool], target: str) -> Iterator[dict[str, Any]]:
    if token.type == "image":
        target, text = str(token.attrs.get("src", "")), token.content or str(token.attrs.get("src", ""))
    else:
        text = "\n" if token.type.endswith("break") else token.content
    if token.type == "code_inline":
        style = style | {"code": True}
    if not text or person_of(target) is not None:
        return
    if is_link(target, SCHEMES):
        yield _text(text, style) | {"type": "link", "url": target}
    else:
        yield _text(text, style)
