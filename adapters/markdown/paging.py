"""Long text as several messages.

Text units: an offset is in characters (code points); limits are in the units of a `Measure`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import inf

import regex
from msgspec import Struct
from msgspec.structs import replace

from adapters.capabilities import Measure
from adapters.markdown.closing import close_marks
from adapters.markdown.fences import OpenFence, after_line, margin_at, without_margin
from adapters.markdown.reading import ADDRESS
from adapters.markdown.tables import ROW_BEGUN, before_head, head_of_table

_PIECE = re.compile(
    r"(?P<whole>`+[^`\n]*`+|\]\([^\s)]*|https?://[^\s)>\]]*|@[a-z0-9]|<[a-z]|^[ \t]*(?:#|\|[ :|-]*--|[`~]{3}))"
    r"|(?P<half>\*++(?!\s)|(?<!\s)\*++|~~|(?<!\w)_++|_++(?!\w))",
    re.IGNORECASE,
)

LATE_FROM = 0.97
"""The part of a page after which it may end at a paragraph, else at a line, else at a sentence."""
TORN_MAX = 0.25
"""The largest part of a full page that is given up to keep a word, a row or a line of code whole."""
NEARLY = 0.9
"""The part of a page's formatting after which it ends between lines."""
HEAD_MAX = 0.25
"""A table's head that takes more than this part of a page is not repeated."""
_CLUSTER = regex.compile(r"\X")
_CLUSTER_MAX = 100
"""The length up to which what belongs together as one character is looked for. Chosen."""
_SURE = regex.compile(r"(?<=[\n -~])[ -~]", regex.REVERSE)
"""The last character that begins something new whatever stands before it."""
_LABEL_MAX = 300
"""The longest label of a link that is kept whole. Chosen."""
_LINK_BEGUN = re.compile(
    rf"(?:(?<!\\)!?\[(?:[^\[\]\n]|\[[^\[\]\n]{{0,80}}\]?+){{0,{_LABEL_MAX}}}+"
    rf"(?:\](?:\([^\s()]*(?:\([^\s()]*\)?[^\s()]*)?(?: (?:\"[^\"\n]{{0,80}}\"?)?)?|\[[^\[\]\n]{{0,80}}\]?)?)?"
    r"|<(?:a |https?:)[^<>\n]*|<[A-Za-z][^<>\n]{0,40}|<a [^<>\n]*>(?:(?!</a>)[^\n])*)\Z"
)
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])https?://")
_LINE_BEGUN = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})?[ \t]*(?:\[[ xX]\][ \t]*)?")
_BREAK_SIGN = re.compile(r"(?<=[^\\])\\\n?\Z")
"""The sign of a break of a line, of which nothing is seen. Another one before it makes it a word."""
_SENTENCE_END = re.compile(r"[.!?\u2026]['\")\]*_]{0,8}[ \n]")
_SENTENCE_END_MAX = 10
_WHOLE_LINE = ("|", "#")
"""The start of a line that is a row of a table or a title."""
NO_ROOMS: Mapping[int, PageRoom] = {}


def crowded_at(line: str, most: float) -> tuple[int, float]:
    """Where a line needs one piece more than `most`, or its length; and the pieces before. Marks count half."""
    count = 0.0
    for found in _PIECE.finditer(line):
        weight = 1.0 if found["whole"] is not None else (len(found[0]) + 1) // 2 / 2
        if count + weight > most:
            return found.start(), count
        count += weight
    return len(line), count


class PageCut(Struct, frozen=True):
    """One page: its Markdown, and the piece of the whole text it has, from `start` to `end`.

    `head` is how many characters of the Markdown stand before that piece: the reopened fence, the table's head.
    `fenced`: the piece ends inside a code fence. `within`: the fence in which it begins.
    """

    text: str
    end: int
    start: int = 0
    head: int = 0
    fenced: bool = False
    within: OpenFence | None = None

    def end_of(self, shown: int, text: str) -> int:
        """Where the first `shown` characters of the page end in the whole text: the page may lack spaces of it."""
        whole, margin = self.start == 0 or text[self.start - 1] == "\n", margin_at(text, self.start, self.within)
        if not margin.spaces:
            return self.start + shown - self.head

        def length(end: int) -> int:
            return len(without_margin(text[self.start : end], margin, self.within, whole=whole)[0])

        return bisect_left(range(self.end), shown - self.head, lo=self.start, key=length)


class PageRoom(Struct, frozen=True):
    """The capacity of a page: at most `limit`, and no text after `ends_at`."""

    limit: int
    ends_at: int | None = None


def split_pages(text: str, limit: int, measure: Measure) -> list[str]:
    return [cut.text for cut in cut_pages(text, limit, measure)]


def cut_pages(
    text: str,
    limit: int,
    measure: Measure,
    rooms: Mapping[int, PageRoom] = NO_ROOMS,
    *,
    growing: bool = False,
    max_pieces: float = inf,
) -> list[PageCut]:
    """Pages of at most `limit`, or of their own of `rooms` by page number, and of at most `max_pieces` of formatting.

    A page ends only where the text does not fit, and as late as it can: at a paragraph, a line or a sentence that ends
    in the last part of it, else at a word, else anywhere. Where depends only on what stands before the first character
    that does not fit: when the text grows, finished pages keep every character. Of a text that is still `growing` the
    last page holds back what may yet move to the next one, so that nothing that was visible moves (but a word, a row or
    a line of code that takes more than the last part of a page). A code fence is closed at the end of a page and
    opened again, with its language, on the next; so is emphasis. A table's head is said again on each page it goes on.
    An empty text has no pages.
    """
    pages: list[PageCut] = []
    start = 0
    table_before = (0, "")
    opener: OpenFence | None = None
    reopened = ""
    while start < len(text):
        if pages and opener is not None and (closed := _closed_at_once(text, start, opener)):
            pages[-1] = replace(pages[-1], end=closed)
            start, opener = closed, None
            continue
        start, reopened = _resumed(text, start, reopened)
        room = rooms.get(len(pages), PageRoom(limit))
        table = head_of_table(text, start, *table_before)
        table_before = (start, table)
        table = table if measure(table) <= HEAD_MAX * room.limit else ""
        margin, whole = margin_at(text, start, opener), start == 0 or text[start - 1] == "\n"
        head = f"{opener.opener}\n" if opener else without_margin(table, margin, None, whole=True)[0] or reopened
        head = head if whole else f"{head}{'> ' * margin.quotes}" if opener else f"{'> ' * margin.quotes}{head}"
        bound = len(text) if room.ends_at is None else min(len(text), max(start + 1, room.ends_at))
        space = _Space(room.limit - measure(head), max_pieces - bool(head))
        filling = _Filling(text, start, bound, space, measure, opener)
        ended = room.ends_at is not None and bound == room.ends_at
        end, fence = filling.end() if filling.overflows or not growing or ended else filling.settled()
        over = filling.overflows or end == room.ends_at
        piece, spaces = without_margin(text[start:end], margin, opener, whole=whole)
        if over and fence is None and (piece.endswith("\n") or text.startswith("\n", end)):
            piece = _BREAK_SIGN.sub("", piece)
        body, reopened = _body(head, piece, fence, spaces) if over else (head + piece, "")
        if body.strip():
            pages.append(PageCut(body, end, start, len(head), fence is not None, opener))
        if end < bound and not filling.overflows:
            break
        start, opener = end, fence
    return pages


def _closed_at_once(text: str, start: int, opener: OpenFence) -> int:
    """The end of the line that closes the fence, where a page would begin with it; else 0."""
    end = text.find("\n", start) + 1 or len(text)
    line = text[start:end].rstrip("\n")
    return end if line.strip(" \t>").startswith(opener.marks) and after_line(line, opener) is None else 0


def _resumed(text: str, start: int, marks: str) -> tuple[int, str]:
    """Where a page begins that opens these marks again, and the marks: behind spaces, and behind marks that close."""
    if not marks:
        return start, ""
    while text[start : start + 1] == " ":
        start += 1
    end = start + len(marks)
    closed = text[start:end] == marks[::-1] and text[end : end + 1] != marks[0]
    return (end, "") if closed else (start, marks if start < len(text) else "")


def _body(head: str, piece: str, fence: OpenFence | None, spaces: int) -> tuple[str, str]:
    """A page to which nothing is added any more, and the marks with which the next one begins."""
    if fence is not None:
        return f"{head}{piece.removesuffix(chr(10))}\n{fence.closer_within(spaces)}", ""
    return (head + piece.rstrip("\n"), "") if piece.endswith("\n\n") else close_marks(head + piece)


class _Space(Struct, frozen=True):
    units: int
    pieces: float


class _Filling:
    """One page being filled from `start` to `bound`; where it `overflows`, `full` is how far it could go."""

    def __init__(
        self, text: str, start: int, bound: int, space: _Space, measure: Measure, fence: OpenFence | None
    ) -> None:
        self._text, self._start, self._room, self._measure = text, start, space.units, measure
        self._pieces, self._pieces_left = space.pieces, space.pieces
        self._crowded: int | None = None
        self._line, self._fence = start, fence
        self._paragraph = -1
        self._used = 0
        self.overflows = self._fill(bound)
        self.full = self._full(bound) if self.overflows else bound

    def _fill(self, bound: int) -> bool:
        """Pass whole lines while they fit; returns whether text remains that does not."""
        closing = _closing(self._fence)
        while self._line < bound:
            reach = min(bound, self._line + max(1, self._room) + 1)
            newline = self._text.find("\n", self._line, reach)
            end = reach if newline < 0 else newline + 1
            used = self._used + self._measure(self._text[self._line : end])
            after = self._fence if newline < 0 else after_line(self._text[self._line : newline], self._fence)
            closing_after = closing if after is self._fence else _closing(after)
            if self._crowds(end, after) or (used + max(closing, closing_after) > self._room and end - self._start > 1):
                return True
            if newline < 0:
                return False
            if newline == self._line and after is None:
                self._paragraph = end
            self._line, self._used, self._fence, closing = end, used, after, closing_after
        return False

    def _crowds(self, end: int, after: OpenFence | None) -> bool:
        """Whether the line up to `end` has more pieces of formatting than are left; inside a fence it has none."""
        if self._fence is not None and after is self._fence:
            return False
        at, count = crowded_at(self._text[self._line : end], self._pieces_left)
        if self._line + at < end:
            self._crowded = max(self._start + 1, self._line + at)
            return True
        self._pieces_left -= count
        return False

    def _full(self, bound: int) -> int:
        """The position where the characters of the first line that does not fit would end."""
        if self._crowded is not None:
            return self._crowded
        left = self._room - self._used - _closing(self._fence)
        reach = min(bound, self._line + max(1, self._room) + 1)
        newline = self._text.find("\n", self._line, reach)
        reach = reach if newline < 0 else newline
        lengths = range(reach - self._line + 1)
        fits = bisect_right(lengths, left, key=lambda n: self._measure(self._text[self._line : self._line + n])) - 1
        return max(self._start + 1, self._line + fits)

    def end(self) -> tuple[int, OpenFence | None]:
        return self._end_within_words() if self.overflows else self._all()

    def _end_within_words(self) -> tuple[int, OpenFence | None]:
        """The best end, but none between the beginning of a line and its words."""
        end, fence = self._best_end()
        begun = self._start < self._line < end and _LINE_BEGUN.fullmatch(self._text, self._line, end)
        return self._line if begun else end, fence

    def settled(self) -> tuple[int, OpenFence | None]:
        """The part of a page with all of the text that stays on it whatever follows."""
        nearly_crowded = self._pieces_left < (1 - NEARLY) * self._pieces
        late = self._is_late(self.full) or self._keeps_line_whole() or nearly_crowded
        return self._end_within_words() if late else self._all()

    def _all(self) -> tuple[int, OpenFence | None]:
        return self.full, self._fence

    def _is_late(self, at: int) -> bool:
        return self._measure(self._text[self._start : at]) >= LATE_FROM * self._room

    def _best_end(self) -> tuple[int, OpenFence | None]:
        full, line, fence = self.full, self._line, self._fence
        if line > self._start and self._pieces_left < (1 - NEARLY) * self._pieces and not self._is_late(full):
            return line, fence
        if self._paragraph > self._start and self._is_late(self._paragraph):
            return self._paragraph, None
        if line > self._start and (self._is_late(line) or self._keeps_line_whole() or self._fills_row()):
            return before_head(self._text, self._start, line, full), fence
        if fence is None:
            late = max(line, self._start + 1, full - int((1 - LATE_FROM) * self._room) - _SENTENCE_END_MAX)
            ends = [found.end() for found in _SENTENCE_END.finditer(self._text, late, full)]
            full = ends[-1] if ends and self._is_late(ends[-1]) else full
        return _whole_word(self._text, self._start, full, "\n" if fence else " \n"), fence

    def _keeps_line_whole(self) -> bool:
        """Whether the page ends before the line that fills it, rather than within."""
        begun = self._text[self._line : self.full]
        if after_line(begun, self._fence) is not self._fence:
            return True
        whole = self._fence is not None or begun.lstrip(" \t>").startswith(_WHOLE_LINE)
        return whole and self._used >= (1 - TORN_MAX) * self._room

    def _fills_row(self) -> bool:
        """Whether the line that fills the page is a row of a table, which is none in pieces."""
        return self._fence is None and ROW_BEGUN.match(self._text, self._line) is not None


def _closing(fence: OpenFence | None) -> int:
    return len(fence.closer) + 1 if fence else 0


def _whole_word(text: str, start: int, at: int, gaps: str) -> int:
    """`at`, or the start of the link that it would cut, or of the word, if that is not far back."""
    whole = _whole_link(text, start, at) if " " in gaps else at
    if whole < at or (at < len(text) and text[at] in gaps):
        return whole
    gap = max(text.rfind(char, start + int((at - start) * (1 - TORN_MAX)), at) for char in gaps)
    at = _whole_character(text, start, gap + 1 if gap >= start else at)
    run = _whole_link(text, start, at) if " " in gaps else at
    while start + 1 < run < len(text) and text[run - 1] == text[run] in "*_~`":
        run -= 1
    return run if run > start + 1 else at


def _whole_link(text: str, start: int, at: int) -> int:
    """`at`, or the start of the link that it would cut, with the marks in front of it."""
    from_line = max(start, text.rfind("\n", start, at) + 1)
    link = _LINK_BEGUN.search(text, from_line, at)
    begun = link.start() if link is not None else at
    for found in _SCHEME.finditer(text, from_line, begun):
        if ADDRESS.fullmatch(text, found.start(), at, partial=True):
            begun = at if at == len(text) or text[at].isspace() else found.start()
            break
        address = ADDRESS.match(text, found.start(), at)
        begun = max(begun, address.end() if address else 0)
    while start + 1 < begun < at and text[begun - 1] in "*_~`" and text[begun - 2] != "\\":
        begun -= 1
    if start < begun < at:
        line = text.rfind("\n", start, begun) + 1
        return line if line > start and _LINE_BEGUN.fullmatch(text, line, begun) else begun
    return at


def _whole_character(text: str, start: int, at: int) -> int:
    """`at`, or the start of the character that it would cut as people count: of a flag, a family, a syllable."""
    sure = _SURE.search(text, start, at)
    known = sure.start() if sure is not None else start
    for found in _CLUSTER.finditer(text, known, at + _CLUSTER_MAX):
        if found.end() > at:
            return found.start() if found.start() > start else at
        if found.end() == at:
            return at
    return at
