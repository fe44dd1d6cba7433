"""CommonMark as Telegram shows it: bare text and formatting entities, which every server knows and which cannot be half
open, or a rich message.

Entities count in UTF-16 code units (Bot API, MessageEntity), and so does the limit of a message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import regex
from markdown_it.token import Token
from msgspec import Struct
from msgspec.structs import replace

from adapters.capabilities import measure_utf16
from adapters.markdown.reading import ADDRESS, TooMuchMarkdown, parsed
from adapters.markdown.writer import MarkdownWriter, MarkKind, is_link
from adapters.telegram.codec.addresses import topic_of
from adapters.telegram.codec.rich_html import PERSON, SCHEMES, rich_html
from adapters.telegram.limits import MAX_CAPTION_UNITS, MAX_ENTITIES, MAX_MESSAGE_UNITS
from runtime.core.address import Speaker

Rich = Literal["auto", "always", "never"]

MAX_NAME: Final = 64
_TASK: Final = re.compile(r"^[ \t]*[-*+] \[[ xX]\] ", re.MULTILINE)

_USER_NAME = regex.compile(rf"(?P<kept>{ADDRESS.pattern})|(?<!\w)@(?=\w{{2}})", ADDRESS.flags)
_BREAK = "@\u2060"
"""An @ that mentions nobody, followed by an invisible word joiner, which no user name contains."""
_AFTER_ADDRESS: Final = ".,:;!?)\"'"
_SPACE, _HARD_SPACE = " ".encode("utf-16-le"), "\u00a0".encode("utf-16-le")

_KINDS: dict[MarkKind, str] = {"heading": "bold", "strong": "bold", "em": "italic", "s": "strikethrough"}


class Entity(Struct, frozen=True):
    """Formatting of a piece; offset and length are UTF-16 units, `person` is whom a text_mention mentions."""

    kind: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None
    person: int | None = None


class RenderedText(Struct, frozen=True):
    """The content of a message: bare text, and its formatting in the order of the offsets."""

    text: str
    entities: tuple[Entity, ...] = ()

    def respaced(self) -> RenderedText:
        """The same to the eye, not to Telegram: its last space outside of code becomes a no-break space."""
        units = self.text.encode("utf-16-le")
        code = [e for e in self.entities if e.kind in ("pre", "code")]
        at = len(units)
        while (at := units.rfind(_SPACE, 0, at)) >= 0:
            if at % 2 == 0 and not any(e.offset <= at // 2 < e.offset + e.length for e in code):
                return replace(self, text=(units[:at] + _HARD_SPACE + units[at + 2 :]).decode("utf-16-le"))
        return self


def render(markdown: str) -> RenderedText:
    """The text as Telegram shows it. Never fails: what cannot be formatted is shown as it is written.

    Links to `person:telegram:<id>` mention that person; no other text mentions anybody. An entity is left for the
    heading; with more than the others, nothing is formatted rather than a link left out.
    """
    source = markdown.encode("utf-8", "replace").decode("utf-8")
    try:
        writer = _Writer()
        writer.blocks(parsed(source))
        rendered = writer.rendered()
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return bare(source)
    return rendered if rendered.text and len(rendered.entities) < MAX_ENTITIES else bare(source)


def bare(text: str) -> RenderedText:
    """The text as it is written, with no formatting; it mentions nobody."""
    return RenderedText(_unmentioned(text))


def with_heading(name: str, body: RenderedText) -> RenderedText:
    """The text under a bold line with its speaker's name, since a bot cannot change its own name for one message."""
    heading = measure_utf16(name)
    moved = (replace(entity, offset=entity.offset + heading + 1) for entity in body.entities)
    return RenderedText(f"{name}\n{body.text}", (Entity("bold", 0, heading), *moved))


def _unmentioned(text: str) -> str:
    """The text without a user name that Telegram would take for a mention; addresses stay."""
    return str(_USER_NAME.sub(lambda found: found["kept"] or _BREAK, text))


class _Open(Struct):
    """A piece that has started, `shown` unless inside an equal one; Telegram makes a `bare` one a link itself."""

    kind: str
    offset: int
    url: str | None = None
    shown: bool = True
    bare: bool = False


class _Writer(MarkdownWriter):
    INDENT = "  "

    def __init__(self) -> None:
        super().__init__()
        self._units = 0
        self._open: list[_Open] = []
        self._address: Entity | None = None
        self._entities: list[Entity] = []

    def rendered(self) -> RenderedText:
        """The written text without white space at its end, which Telegram would remove as well."""
        text = self.text()
        end = measure_utf16(text)
        fitting = (replace(e, length=min(e.length, end - e.offset)) for e in self._entities if e.offset < end)
        ordered = sorted(fitting, key=lambda e: (e.offset, -e.length))
        return RenderedText(text, tuple(ordered))

    def _quote(self, tokens: Sequence[Token]) -> None:
        self._open_piece("blockquote")
        self.blocks(tokens)
        self._end()

    def _code_block(self, code: str, info: str) -> None:
        words = info.split()
        self._formatted("pre", code, language=words[0] if words else None)

    def _code(self, code: str) -> None:
        self._formatted("code", code)

    def _line_break(self) -> None:
        self._write("\n")

    def _plain(self, text: str) -> None:
        self._write(text)

    def _begin(self, kind: MarkKind) -> None:
        self._open_piece(_KINDS[kind])

    def _begin_link(self, url: str, *, bare: bool) -> None:
        self._open_piece("text_link", url)
        self._open[-1].bare = bare and url.startswith("http")
        self._open[-1].url = None if bare and not is_link(url, SCHEMES) else url

    def _end_link(self) -> None:
        self._end()

    def _open_piece(self, kind: str, url: str | None = None) -> None:
        self._flush_breaks()
        around = any(piece.kind == kind for piece in self._open)
        shown = not around and (url is None or is_link(url, SCHEMES) or bool(PERSON.fullmatch(url)))
        self._open.append(_Open(kind, self._units, url, shown))

    def _end(self) -> None:
        piece = self._open.pop()
        length = self._units - piece.offset
        person = PERSON.fullmatch(piece.url or "")
        if person and piece.shown and length:
            self._entities.append(Entity("text_mention", piece.offset, length, person=int(person[1])))
        elif piece.shown and piece.bare:
            self._address = Entity(piece.kind, piece.offset, length, url=piece.url)
        elif piece.shown and length:
            self._entities.append(Entity(piece.kind, piece.offset, length, url=piece.url))
        elif piece.url and not is_link(piece.url, SCHEMES) and not piece.url.startswith("person:"):
            self._write(f" ({piece.url})")

    def _formatted(self, kind: str, text: str, *, language: str | None = None) -> None:
        if not text:
            return
        self._flush_breaks()
        offset = self._units
        self._append(text)
        self._entities.append(Entity(kind, offset, self._units - offset, language=language))

    def _write(self, text: str) -> None:
        """Write text outside code. Only inside an address and a person's mention an @ may stay unbroken."""
        kept = any(piece.bare or (piece.shown and PERSON.fullmatch(piece.url or "")) for piece in self._open)
        super()._write(text if kept else _unmentioned(text))

    def _append(self, text: str) -> None:
        """Add text. Where it would be taken for the end of the address before it, that address becomes an entity."""
        if self._address is not None and not (text.lstrip(_AFTER_ADDRESS) or " ")[0].isspace():
            self._entities.append(self._address)
        self._address = None
        super()._append(text)
        self._units += measure_utf16(text)


class RenderedPage(Struct, frozen=True):
    """CommonMark under its speaker's name; `name` is empty where none is shown."""

    markdown: str
    name: str = ""

    @classmethod
    def of(cls, text: str, speaker: Speaker, *, named: bool) -> RenderedPage:
        """The gateway itself (id "") has no heading."""
        name = bare(" ".join(speaker.name.split())[:MAX_NAME]).text
        return cls(text, name if named and speaker.id else "")

    def rendered(self) -> RenderedText:
        """The text with entities. If columns or marks make it too long for Telegram, it is shown as written."""
        room = MAX_MESSAGE_UNITS - (measure_utf16(self.name) + 1 if self.name else 0)
        body = render(self.markdown)
        if measure_utf16(body.text) > room:
            body = bare(self.markdown)
        if measure_utf16(body.text) > room:
            body = RenderedText(self.markdown.replace("@", "\uff20"))
        return with_heading(self.name, body) if self.name else body

    def rich(self) -> str | None:
        """The text as the HTML of a rich message; None where it is too much for one."""
        try:
            return rich_html(self.markdown.encode("utf-8", "replace").decode("utf-8"), self.name)
        except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, it has entities
            return None

    def gains(self) -> bool:
        """Whether a rich message shows it better: tables and task lists have no entities."""
        try:
            tables = "|" in self.markdown and any(token.type == "table_open" for token in parsed(self.markdown))
        except TooMuchMarkdown:
            return False
        return tables or bool(_TASK.search(self.markdown))

    def fits_caption(self) -> bool:
        return not self.markdown.strip() or measure_utf16(self.rendered().text) <= MAX_CAPTION_UNITS


def shows_it(answer: Mapping[str, Any], page: RenderedText | None, thread_id: int | None) -> str | None:
    """The difference between a page's visible text and what Telegram shows, if any; of a rich one only the topic."""
    if topic_of(answer) != thread_id:
        return f"it is in topic {topic_of(answer)}, not in {thread_id}"
    if page is not None and _visible(answer.get("text", "")) != _visible(page.text):
        return f"it shows {len(answer.get('text', ''))} characters of {len(page.text)}, or others"
    return None


def _visible(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character)[0] in "LNPS")
