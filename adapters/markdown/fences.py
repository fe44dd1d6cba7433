"""Code fences, line by line, also inside lists and quotes; and the margin of a page that begins within a list."""

from __future__ import annotations

import re

from msgspec import Struct

FENCE_LINE = re.compile(
    r"(?P<box>(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)(?P<indent>[ \t]*)(?P<marks>`{3,}(?=[^`\n]*\Z)|~{3,})"
    r"(?P<info>[^\n]*)\Z"
)
_LIST_MARKER = re.compile(r"[-*+]|\d{1,9}[.)]")

_LINES_MAX = 500
"""The number of lines above a page in which the list is looked for that it begins in. Chosen."""
_QUOTES_MAX = 9
"""The number of quotations in each other beyond which a page is in none. Chosen."""
_QUOTES = tuple(re.compile(rf"(?: {{0,3}}> ?){{0,{most}}}") for most in range(_QUOTES_MAX + 2))
_INDENT_MAX = 3
"""The most spaces before an entry that stands in no other (CommonMark)."""
_BLANK = re.compile(r"\n*")
_ENTRY = re.compile(r"(?:[-*+]|\d{1,9}[.)]) {1,4}")
_LATE = re.compile(r"( {0,3}(?!0{0,8}1\))\d{1,9})\)(?= )")
"""The number of an entry that is none below words (CommonMark): only a first one is."""


class OpenFence(Struct, frozen=True):
    """A code fence of `marks`: `inside` precedes every line of it (`> ` in a quote), `info` follows its marks."""

    marks: str
    inside: str
    info: str

    @property
    def opener(self) -> str:
        """The line that reopens the fence where no list precedes it, as at the start of a page."""
        return f"{self._quotes}{self.marks}{self.info}"

    @property
    def closer(self) -> str:
        return self.inside + self.marks

    def closer_within(self, spaces: int) -> str:
        """The line that closes it on a page that has lost so many spaces of its lists."""
        return f"{self._quotes}{self.inside[len(self._quotes) + spaces :]}{self.marks}"

    @property
    def _quotes(self) -> str:
        end = self.inside.rfind(">") + 1
        return self.inside[: end + self.inside.startswith(" ", end)] if end else ""

    def is_left_by(self, line: str) -> bool:
        """Whether a line with this start is outside the quotation that contains the fence."""
        if ">" not in self.inside:
            return False
        begun = line.lstrip()
        return bool(begun) and not begun.startswith(">")


def after_line(line: str, fence: OpenFence | None) -> OpenFence | None:
    """The fence that is open after a complete `line`."""
    found = FENCE_LINE.match(line) if "```" in line or "~~~" in line else None
    if fence is not None and (fence.is_left_by(line) or (">" in fence.inside and not line.strip())):
        fence = None
    if fence is None:
        return _opened(found) if found else None
    closes = (
        found is not None
        and found["marks"].startswith(fence.marks)
        and not found["info"].strip()
        and not _LIST_MARKER.search(found["box"])
    )
    return None if closes else fence


def _opened(found: re.Match[str]) -> OpenFence:
    inside = _LIST_MARKER.sub(lambda marker: " " * len(marker[0]), found["box"]) + found["indent"]
    return OpenFence(found["marks"], inside, found["info"])


class Margin(Struct, frozen=True):
    """The number of quotations around a page's first line, and of spaces in front of it that belong to lists."""

    quotes: int = 0
    spaces: int = 0


def margin_at(text: str, start: int, fence: OpenFence | None) -> Margin:
    """The margin of a page that begins at `start`, within this fence."""
    if start == 0:
        return Margin()
    if fence is not None:
        quotes, rest = _split(fence.inside, _QUOTES_MAX)
        return Margin(quotes, len(rest))
    begins = text.rfind("\n", 0, start) + 1
    if begins == start and (blank := _BLANK.match(text, start)) is not None:
        begins = blank.end()
    quotes, rest = _split(text[begins : _line_end(text, begins)], _QUOTES_MAX + 1)
    if quotes > _QUOTES_MAX:
        return Margin()
    spaces = len(rest) - len(rest.lstrip(" "))
    entry = _ENTRY.match(rest, spaces) if begins < start else None
    if spaces and not (entry and spaces <= _INDENT_MAX) and not _is_in_list(text, begins, quotes, spaces):
        return Margin(quotes)
    return Margin(quotes, entry.end() if entry else spaces)


def without_margin(piece: str, margin: Margin, fence: OpenFence | None, *, whole: bool) -> tuple[str, int]:
    """A page's lines without its margin, and the spaces that still belong to it at the end, since a line that stands
    further out ends it. `whole`: the page begins with a whole line.
    """
    if not margin.spaces:
        return piece, 0
    lines, spaces, words = list[str](), margin.spaces, fence is None
    for number, line in enumerate(piece.split("\n")):
        if number or whole:
            quotes, rest = _split(line, margin.quotes)
            indent = len(rest) - len(rest.lstrip(" "))
            if quotes < margin.quotes and line.strip():
                spaces = 0
            elif fence is None and rest.strip():
                spaces = min(spaces, indent)
            rest, around = rest[min(indent, spaces) :], line[: len(line) - len(rest)]
            late = number and _LATE.match(rest)
            words = words and fence is None and bool(late or (rest.strip() and not _ENTRY.match(rest.lstrip(" "))))
            lines.append(around + (_LATE.sub(r"\1.", rest, count=1) if words and late else rest))
        else:
            lines.append(line)
        fence = after_line(line, fence)
    return "\n".join(lines), spaces


def _is_in_list(text: str, begins: int, quotes: int, spaces: int) -> bool:
    """Whether a line with so many spaces belongs to an entry of a list above it."""
    for _ in range(_LINES_MAX):
        if begins == 0:
            return False
        begins, ends = text.rfind("\n", 0, begins - 1) + 1, begins - 1
        around, rest = _split(text[begins:ends], quotes)
        indent = len(rest) - len(rest.lstrip(" "))
        if around < quotes and rest.strip():
            return False
        if rest.strip() and indent < spaces:
            if _ENTRY.match(rest, indent) is not None:
                return True
            if indent == 0:
                return False
            spaces = indent
    return False


def _split(line: str, most: int) -> tuple[int, str]:
    """The number of signs of quotations before a line, of at most so many, and what stands behind them."""
    found = _QUOTES[most].match(line)
    before = found[0] if found is not None else ""
    return before.count(">"), line[len(before) :]


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
