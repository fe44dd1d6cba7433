"""Long text as several messages.

Text units: an offset is in characters (code points); limits are in the units of a `Measure`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.fences import OpenFence, after_line
from adapters.markdown import close_marks
from adapters.table_head import head_of_table
from adapters.text_length import Measure

PARAGRAPH_FROM = 0.75
"""A page ends at the first end of a paragraph after this part of it is filled."""
LINE_FROM = 0.85
"""If there was none, at the first line's end after this part, also inside a code fence."""
SENTENCE_FROM = 0.92
WORD_FROM = 0.96
TORN_MAX = 0.25
"""A full page gives up at most this part of itself to keep a long last word, or a line of code, whole."""

HEAD_MAX = 0.25
"""A table's head that takes more of a page is not said again."""

_SENTENCE_END = re.compile(r"[.!?\u2026]['\")\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class Cut:
    """One page: its Markdown, and the piece of the whole text it has, from `start` to `end`.

    `head` is how many characters of the Markdown stand before that piece: the reopened fence, the table's head.
    `fenced`: the piece ends inside a code fence.
    """

    text: str
    end: int
    start: int = 0
    head: int = 0
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """What a page may hold: at most `limit`, and nothing of the whole text behind `ends_at`."""

    limit: int
    ends_at: int | None = None


NO_ROOMS: Mapping[int, Room] = {}


def split_pages(text: str, limit: int, measure: Measure) -> list[str]:
    """The texts of `cut_pages`."""
    return [cut.text for cut in cut_pages(text, limit, measure)]


def cut_pages(text: str, limit: int, measure: Measure, rooms: Mapping[int, Room] = NO_ROOMS) -> list[Cut]:
    """Pages of at most `limit`, or of their own of `rooms` by page number.

    They are cut at a paragraph, else a line, else a sentence, else a word, else anywhere.

    Where a page ends depends only on what stands before that point: when the text grows, finished pages keep every
    character and nothing that was visible moves to another page (but a word, or a line of code, that the page ends in
    the middle of moves as a whole). So a text longer than `PARAGRAPH_FROM` of the limit
    may be two pages although it would fit in one. A code fence is closed at the end of a page and opened again, with
    its language, on the next; a table's head is said again on each page it goes on. An empty text has no pages.
    """
    pages: list[Cut] = []
    start = 0
    opener: OpenFence | None = None
    while start < len(text):
        room = rooms.get(len(pages), Room(limit))
        head = f"{opener.opener}\n" if opener else _table_head(text, start, room.limit, measure)
        bound = len(text) if room.ends_at is None else min(len(text), max(start + 1, room.ends_at))
        end, fence = _page_end(text[:bound], start, room.limit - measure(head), measure, opener)
        over = end < len(text) or end == room.ends_at
        body = _body(head, text[start:end], fence) if over else head + text[start:end]
        if body.strip():
            pages.append(Cut(body, end, start, len(head), fence is not None))
        start, opener = end, fence
    return pages


def _table_head(text: str, start: int, limit: int, measure: Measure) -> str:
    head = head_of_table(text, start)
    return head if measure(head) <= HEAD_MAX * limit else ""


def _body(head: str, piece: str, fence: OpenFence | None) -> str:
    """A page that nothing is added to any more."""
    if fence is not None:
        return f"{head}{piece.removesuffix(chr(10))}\n{fence.closer}"
    return head + piece.rstrip("\n") if piece.endswith("\n") else close_marks(head + piece)


def _page_end(
    text: str, start: int, room: int, measure: Measure, fence: OpenFence | None
) -> tuple[int, OpenFence | None]:
    """Where the page that begins at `start` ends, and the fence that is open there."""
    line_start, used, fence = _skip_lines(text, start, room, measure, fence)
    for at in range(line_start, len(text)):
        used += measure(text[at])
        if used + _closing(fence) > room and at > start:
            return _whole_word(text, start, at, "\n" if fence else " \n"), fence
        if text[at] == "\n":
            fence = after_line(text[line_start:at], fence)
            line_start = at + 1
        if _may_end(text, at, used / max(1, room), fence is not None):
            return at + 1, fence
    return len(text), fence


def _skip_lines(
    text: str, start: int, room: int, measure: Measure, fence: OpenFence | None
) -> tuple[int, int, OpenFence | None]:
    """Pass whole lines while no page can end: where the next line starts, what is used, and the open fence."""
    used = 0
    while (end := text.find("\n", start)) >= 0:
        after = after_line(text[start:end], fence)
        longer = used + measure(text[start : end + 1])
        if longer >= PARAGRAPH_FROM * room or longer + max(_closing(fence), _closing(after)) > room:
            break
        start, used, fence = end + 1, longer, after
    return start, used, fence


def _closing(fence: OpenFence | None) -> int:
    return len(fence.closer) + 1 if fence else 0


def _may_end(text: str, at: int, filled: float, fenced: bool) -> bool:
    """Whether a page filled to this part may end after the character at `at`."""
    if filled < PARAGRAPH_FROM or not text[at].isspace():
        return False
    if text[at] == "\n":
        paragraph = not fenced and at > 0 and text[at - 1] == "\n"
        return paragraph or filled >= LINE_FROM
    if fenced:
        return False
    return filled >= WORD_FROM or (filled >= SENTENCE_FROM and bool(_SENTENCE_END.search(text, max(0, at - 4), at)))


def _whole_word(text: str, start: int, at: int, gaps: str) -> int:
    """`at`, or the start of the word it would tear if that is not far back."""
    if text[at] in gaps:
        return at
    gap = max(text.rfind(char, start + int((at - start) * (1 - TORN_MAX)), at) for char in gaps)
    return gap + 1 if gap >= start else _whole_character(text, start, at)


def _whole_character(text: str, start: int, at: int) -> int:
    """`at`, or a little before it, so that no joined character is torn."""
    end = at
    while end > start + 1 and at - end < 16:
        joined = unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"
        if not joined and not "\U0001f3fb" <= text[end] <= "\U0001f3ff":
            return end
        end -= 1
    return at
