"""CommonMark as the HTML of a rich message (Bot API, sendRichMessage, Rich HTML style). Pure.

Telegram also takes Markdown, but it reads that with marks of its own (`==`, `||`, tags), and finds addresses only
together with names, which would mention people. So everything is read here, and every link is written out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Final

from markdown_it.token import Token

from adapters.markdown.reading import BOXES, parsed
from adapters.markdown.writer import is_link
from adapters.telegram.limits import MAX_RICH_BLOCKS, MAX_RICH_COLUMNS, MAX_RICH_DEPTH

_TASK: Final = re.compile(f"([{BOXES}])[ ]+")
_TAGS: Final[Mapping[str, str]] = {
    "strong": "b",
    "em": "i",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "paragraph": "p",
}
"""The tags by kinds of tokens, where the token's own is another one."""
_BLOCKS: Final = frozenset({"p", "ul", "ol", "li", "table", "tr", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"})

SCHEMES = frozenset({"http", "https", "mailto", "tel"})
"""The schemes of links. Without tg, whose links to `user?id=` mention people."""
PERSON = re.compile(r"person:telegram:(\d+)")


class NotRich(ValueError):
    """The text has more than a rich message takes."""


def rich_html(markdown: str, name: str = "") -> str:
    """The text, under its speaker's name where there is one. Raises NotRich, and TooMuchMarkdown."""
    writer = _RichWriter()
    if name:
        writer.heading(name)
    writer.blocks(parsed(markdown))
    return writer.written()


class _RichWriter:
    """Writes tokens one after the other, and counts what Telegram counts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[str] = []
        self._links: list[str | None] = []
        self._blocks = 0
        self._columns = 0
        self._begins_item = False

    def written(self) -> str:
        return "".join(self._parts)

    def heading(self, name: str) -> None:
        self._start("p")
        self._marked("b", name)
        self._end()

    def blocks(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            kind, _, edge = token.type.rpartition("_")
            if token.type == "inline":
                self._inline(token.children or [])
            elif token.type in ("fence", "code_block"):
                self._code_block(token)
            elif token.type == "hr":
                self._count("hr")
                self._parts.append("<hr/>")
            elif kind == "paragraph" and token.hidden:
                continue
            elif edge == "open":
                self._block(kind, token)
            elif edge == "close" and kind not in ("thead", "tbody"):
                self._end()

    def _block(self, kind: str, token: Token) -> None:
        if kind in ("thead", "tbody"):
            return
        attributes = ""
        if kind == "ordered_list":
            attributes = f' start="{start}"' if (start := int(token.attrs.get("start", 1))) != 1 else ""
        elif kind in ("th", "td"):
            align = str(token.attrs.get("style", "")).rpartition(":")[2]
            attributes = f' align="{align}"' if align else ""
        tag = _TAGS.get(kind, token.tag)
        self._begins_item = kind == "list_item" or (self._begins_item and kind == "paragraph")
        self._start(tag, " bordered" if tag == "table" else attributes)

    def _code_block(self, token: Token) -> None:
        self._count("pre")
        words = token.info.split()
        code = html.escape(token.content.rstrip("\n"))
        language = f' class="language-{html.escape(words[0])}"' if words else ""
        self._parts.append(f"<pre><code{language}>{code}</code></pre>" if words else f"<pre>{code}</pre>")

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            begins, self._begins_item = self._begins_item, False
            match token.type:
                case "strong_open" | "em_open" | "s_open":
                    self._start(_TAGS.get(token.type.removesuffix("_open"), "s"))
                case "strong_close" | "em_close" | "s_close":
                    self._end()
                case "link_open":
                    self._link(str(token.attrs.get("href", "")), bare=token.markup == "autolink")
                case "link_close":
                    self._end_link()
                case "image":
                    self._link(str(token.attrs.get("src", "")), bare=not token.content)
                    self._text(token.content or str(token.attrs.get("src", "")))
                    self._end_link()
                case "code_inline":
                    self._marked("code", token.content)
                case "formula":
                    self._marked("tg-math", _without_signs(token.content))
                case "softbreak" | "hardbreak":
                    self._parts.append("<br>")
                case _:
                    self._words(token.content, begins=begins)

    def _words(self, text: str, *, begins: bool) -> None:
        """Write text; where it begins an entry of a list, with its box to tick."""
        task = _TASK.match(text) if begins else None
        if task is not None:
            self._parts.append(f'<input type="checkbox"{" checked" if task[1] == BOXES[1] else ""}>')
            text = text[task.end() :]
        self._text(text)

    def _link(self, url: str, *, bare: bool) -> None:
        """Start a link. Of a `bare` one the address is the text."""
        person = PERSON.fullmatch(url)
        leads = is_link(url, SCHEMES) and "a" not in self._open
        target = f"tg://user?id={person[1]}" if person else url if leads else ""
        told = bare or not url or url.startswith("person:")
        self._links.append(None if target else "" if told else f" ({url})")
        if target:
            self._start("a", f' href="{html.escape(target)}"')

    def _end_link(self) -> None:
        unshown = self._links.pop()
        if unshown is None:
            self._end()
        else:
            self._text(unshown)

    def _marked(self, tag: str, text: str) -> None:
        self._start(tag)
        self._text(text)
        self._end()

    def _text(self, text: str) -> None:
        self._parts.append(html.escape(text))

    def _start(self, tag: str, attributes: str = "") -> None:
        self._count(tag)
        self._open.append(tag)
        if len(self._open) > MAX_RICH_DEPTH:
            raise NotRich("too many levels")
        self._parts.append(f"<{tag}{attributes}>")

    def _end(self) -> None:
        self._parts.append(f"</{self._open.pop()}>")

    def _count(self, tag: str) -> None:
        self._blocks += tag in _BLOCKS or tag in ("pre", "hr")
        self._columns = 0 if tag == "tr" else self._columns + (tag in ("th", "td"))
        if self._blocks > MAX_RICH_BLOCKS or self._columns > MAX_RICH_COLUMNS:
            raise NotRich("too many blocks or columns")


def _without_signs(formula: str) -> str:
    """The TeX between a formula's signs."""
    if formula.startswith("\\begin"):
        return formula
    size = 1 if formula.startswith("$") and not formula.startswith("$$") else 2
    return formula[size:-size].strip()
