"""Markup as the Bot API server reads it: strictly. Anything half open is refused, as on the platform.

Rules: core.telegram.org/bots/api#formatting-options; texts of the refusals: as the server writes them.
"""

import html
import re
from typing import Any

RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKS = {"||": "spoiler", "__": "underline", "*": "bold", "_": "italic", "~": "strikethrough"}
_TAGS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    "a": "text_link",
    "blockquote": "blockquote",
    "code": "code",
    "pre": "pre",
    "tg-spoiler": "spoiler",
}
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)((?:\s+[\w-]+(?:=\"[^\"]*\")?)*)\s*>")

Entities = list[dict[str, Any]]


class MarkupError(ValueError):
    """The text is not well formed; says where, in bytes."""


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(text: str, mode: str) -> tuple[str, Entities]:
    """Bare text and entities. Raises MarkupError."""
    match mode.casefold():
        case "":
            return text, []
        case "markdownv2":
            return _Markdown(text).parsed()
        case "html":
            return _html(text)
        case _:
            raise MarkupError("unsupported parse_mode")


class _Markdown:
    """MarkdownV2: a reserved character is markup or is escaped, and every mark is closed, the innermost first."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._out = ""
        self._entities: Entities = []
        self._open: list[tuple[str, str, int, int]] = []

    def parsed(self) -> tuple[str, Entities]:
        while self._at < len(self._source):
            self._step()
        if self._open:
            _, kind, _, begun = self._open[-1]
            raise MarkupError(f"Can't find end of {kind.capitalize()} entity at byte offset {self._bytes(begun)}")
        return self._out, sorted(self._entities, key=lambda e: (e["offset"], -e["length"]))

    def _step(self) -> None:
        rest = self._source[self._at :]
        if rest[0] == "\\" and len(rest) > 1 and ord(rest[1]) < 127:
            self._take(2, rest[1])
        elif rest[0] == "`":
            self._code("```" if rest.startswith("```") else "`")
        elif (mark := next((m for m in _MARKS if rest.startswith(m)), None)) is not None:
            self._toggle(mark)
        elif rest[0] == "[":
            self._open.append(("](", "text_link", units(self._out), self._at))
            self._take(1, "")
        elif rest.startswith("](") and self._open and self._open[-1][0] == "](":
            self._link()
        elif rest[0] == ">" and self._at_line_start():
            self._take(1, "")
        elif rest[0] in RESERVED:
            raise MarkupError(f"Character '{rest[0]}' is reserved and must be escaped with the preceding '\\'")
        else:
            self._take(1, rest[0])

    def _toggle(self, mark: str) -> None:
        if self._open and self._open[-1][0] == mark:
            _, kind, offset, _ = self._open.pop()
            self._add(kind, offset)
        else:
            self._open.append((mark, _MARKS[mark], units(self._out), self._at))
        self._take(len(mark), "")

    def _code(self, fence: str) -> None:
        kind = "pre" if len(fence) == 3 else "code"
        end = self._source.find(fence, self._at + len(fence))
        if end < 0:
            raise MarkupError(f"Can't find end of {kind.capitalize()} entity at byte offset {self._bytes(self._at)}")
        offset = units(self._out)
        self._out += re.sub(r"\\([\\`])", r"\1", self._source[self._at + len(fence) : end])
        self._add(kind, offset)
        self._at = end + len(fence)

    def _link(self) -> None:
        end = self._source.find(")", self._at)
        if end < 0:
            raise MarkupError(f"Can't find end of a URL at byte offset {self._bytes(self._at)}")
        _, kind, offset, _ = self._open.pop()
        self._add(kind, offset, url=self._source[self._at + 2 : end])
        self._at = end + 1

    def _add(self, kind: str, offset: int, **more: str) -> None:
        if units(self._out) > offset:
            self._entities.append({"type": kind, "offset": offset, "length": units(self._out) - offset, **more})

    def _take(self, count: int, shown: str) -> None:
        self._at += count
        self._out += shown

    def _at_line_start(self) -> bool:
        return self._at == 0 or self._source[self._at - 1] == "\n"

    def _bytes(self, at: int) -> int:
        return len(self._source[:at].encode())


def _html(source: str) -> tuple[str, Entities]:
    out, at, entities = "", 0, Entities()
    stack: list[tuple[str, int, str]] = []
    while at < len(source):
        following = source.find("<", at)
        following = len(source) if following < 0 else following
        out += html.unescape(source[at:following])
        if following == len(source):
            break
        tag = _TAG.match(source, following)
        where = len(source[:following].encode())
        if tag is None or tag[2].casefold() not in _TAGS:
            name = source[following + 1 : following + 11] if tag is None else tag[2]
            raise MarkupError(f'Unsupported start tag "{name}" at byte offset {where}')
        name = tag[2].casefold()
        if not tag[1]:
            stack.append((name, units(out), tag[3]))
        elif not stack or stack[-1][0] != name:
            raise MarkupError(f"Unexpected end tag at byte offset {where}")
        else:
            _close(stack.pop(), units(out), entities)
        at = tag.end()
    if stack:
        raise MarkupError(f'Can\'t find end tag corresponding to start tag "{stack[-1][0]}"')
    return out, sorted(entities, key=lambda e: (e["offset"], -e["length"]))


def _close(begun: tuple[str, int, str], end: int, entities: Entities) -> None:
    name, offset, attributes = begun
    href = re.search(r'href="([^"]*)"', attributes)
    link = {"url": html.unescape(href[1])} if href else {}
    if end > offset:
        entities.append({"type": _TAGS[name], "offset": offset, "length": end - offset, **link})
