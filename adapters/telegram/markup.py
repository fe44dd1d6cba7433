"""CommonMark as Telegram shows it: bare text and formatting entities, which cannot be half open.

Entities count in UTF-16 code units (Bot API, MessageEntity), and so does the limit of a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_ENTITIES = 100
"""Entities of one message that Telegram honours (Bot API limits, `telegram.constants.MessageLimit`)."""

_LINK_SCHEMES = frozenset({"http", "https", "mailto", "tel", "tg"})
_PERSON = re.compile(r"person:telegram:(\d+)")
"""Where a link leads that mentions a person."""

_USER_NAME = re.compile(r"(?<!\w)@(?=\w{2})")
_BREAK = "@\u2060"
"""An @ that mentions nobody: a word joiner is not seen, and is no part of a user name."""

_BULLET = "•"
_RULE = "———"

# Without setext headings: a line of dashes that arrives under growing text would turn the text bold for a moment.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["lheading", "html_block"])
)


@dataclass(frozen=True, slots=True)
class Entity:
    """Formatting of a piece of a text; `kind` is the Bot API's type, offset and length are UTF-16 units.

    `person` is the id of whom a text_mention mentions.
    """

    kind: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None
    person: int | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a message shows: bare text, and its formatting in the order of the offsets."""

    text: str
    entities: tuple[Entity, ...] = ()


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the unit of all of Telegram's limits and offsets."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def render(markdown: str) -> Rendered:
    """The text as Telegram shows it. Never fails: what cannot be formatted is shown as it is written.

    Links to `person:telegram:<id>` mention that person; no other text mentions anybody.
    """
    source = markdown.encode("utf-8", "replace").decode("utf-8")
    try:
        rendered = _Writer().blocks(_PARSER.parse(source)).rendered()
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return bare(source)
    return rendered if rendered.text else bare(source)


def bare(text: str) -> Rendered:
    """The text as it is written, with no formatting; it mentions nobody."""
    return Rendered(_USER_NAME.sub(_BREAK, text))


def parsed(markdown: str) -> list[Token]:
    """The blocks of a text."""
    return _PARSER.parse(markdown)


def with_heading(name: str, body: Rendered) -> Rendered:
    """The text under a bold line with its speaker's name: a bot cannot change its own for one message."""
    heading = utf16_length(name)
    moved = (replace(entity, offset=entity.offset + heading + 1) for entity in body.entities)
    entities = (Entity("bold", 0, heading), *moved)
    return Rendered(f"{name}\n{body.text}", entities[:MAX_ENTITIES])


@dataclass(slots=True)
class _Open:
    """A piece that has begun. `shown` is False where an equal one is already open around it, or it has no meaning."""

    kind: str
    offset: int
    url: str | None = None
    shown: bool = True


class _Writer:
    """Writes tokens one after the other; line breaks between blocks wait until there is text after them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._units = 0
        self._breaks = 0
        self._open: list[_Open] = []
        self._entities: list[Entity] = []
        self._lists: list[int | None] = []

    def rendered(self) -> Rendered:
        """What was written, without the white space at its end, which Telegram would cut off as well."""
        text = "".join(self._parts).rstrip()
        end = utf16_length(text)
        fitting = (replace(e, length=min(e.length, end - e.offset)) for e in self._entities if e.offset < end)
        ordered = sorted(fitting, key=lambda e: (e.offset, -e.length))
        return Rendered(text, tuple(ordered[:MAX_ENTITIES]))

    def blocks(self, tokens: Sequence[Token]) -> _Writer:
        stream = iter(tokens)
        for token in stream:
            if token.type == "table_open":
                self._table(stream)
            elif token.type == "inline":
                self._inline(token.children or [])
            elif token.type in ("fence", "code_block"):
                self._code_block(token)
            elif token.type == "hr":
                self._write(_RULE)
                self._break(2)
            else:
                self._boundary(token)
        return self

    def _boundary(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self._begin("bold")
            case "heading_close":
                self._end()
                self._break(2)
            case "blockquote_open":
                self._begin("blockquote")
            case "blockquote_close":
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
        indent = "  " * (len(self._lists) - 1)
        self._write(f"{indent}{_BULLET if number is None else f'{number}.'} ")

    def _code_block(self, token: Token) -> None:
        code = token.content.rstrip("\n")
        words = token.info.split()
        self._formatted("pre", code, language=words[0] if words else None)
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
        self._formatted("pre", _columns(rows))
        self._break(2)

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "strong_open":
                    self._begin("bold")
                case "em_open":
                    self._begin("italic")
                case "s_open":
                    self._begin("strikethrough")
                case "link_open":
                    self._begin("text_link", str(token.attrs.get("href", "")))
                case "strong_close" | "em_close" | "s_close" | "link_close":
                    self._end()
                case "code_inline":
                    self._formatted("code", token.content)
                case "softbreak" | "hardbreak":
                    self._write("\n")
                case "image":
                    self._image(token)
                case _:
                    self._write(token.content)

    def _image(self, token: Token) -> None:
        url = str(token.attrs.get("src", ""))
        self._begin("text_link", url)
        self._write(token.content or url)
        self._end()

    def _begin(self, kind: str, url: str | None = None) -> None:
        self._flush_breaks()
        around = any(piece.kind == kind for piece in self._open)
        shown = not around and (url is None or _is_link(url) or bool(_PERSON.fullmatch(url)))
        self._open.append(_Open(kind, self._units, url, shown))

    def _end(self) -> None:
        piece = self._open.pop()
        length = self._units - piece.offset
        person = _PERSON.fullmatch(piece.url or "")
        if person and piece.shown and length:
            self._entities.append(Entity("text_mention", piece.offset, length, person=int(person[1])))
        elif piece.shown and length:
            self._entities.append(Entity(piece.kind, piece.offset, length, url=piece.url))
        elif piece.url and not _is_link(piece.url) and not piece.url.startswith("person:"):
            self._write(f" ({piece.url})")

    def _formatted(self, kind: str, text: str, *, language: str | None = None) -> None:
        if not text:
            return
        self._flush_breaks()
        offset = self._units
        self._append(text)
        self._entities.append(Entity(kind, offset, self._units - offset, language=language))

    def _write(self, text: str) -> None:
        """Write text that is no code; only inside the mention of a person an @ may stand unbroken."""
        if text:
            self._flush_breaks()
            mentioned = any(piece.shown and _PERSON.fullmatch(piece.url or "") for piece in self._open)
            self._append(text if mentioned else _USER_NAME.sub(_BREAK, text))

    def _break(self, count: int) -> None:
        self._breaks = max(self._breaks, count)

    def _flush_breaks(self) -> None:
        if self._breaks and self._parts:
            self._append("\n" * self._breaks)
        self._breaks = 0

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._units += utf16_length(text)


def _is_link(url: str) -> bool:
    """Whether Telegram takes it as the target of a link."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _LINK_SCHEMES and bool(parts.netloc or parts.path)


def _bare_text(token: Token) -> str:
    return "".join(" " if child.type.endswith("break") else child.content for child in token.children or [])


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)
