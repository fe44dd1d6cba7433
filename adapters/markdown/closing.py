"""Closing of Markdown that is still being written, for display. Pages: `adapters/markdown/paging.py`."""

from __future__ import annotations

import re

from adapters.markdown.fences import FENCE_LINE, OpenFence, after_line
from adapters.markdown.inline_marks import InlineMarks
from adapters.markdown.table_head import DELIMITER_ROW

_BEFORE_ROW = " \t>"
_BLOCK_START = re.compile(r"[ \t>]*+(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])|[ \t]*>")
_BOX = re.compile(r"\[[ xX]\]")
_HELD_LINE = re.compile(
    r"[ \t>]*+(?:[-*+=_]+(?:[ \t]+[-*_]+)*+|\d{1,9}[.)]?|#{1,6}|`+|~+"
    r"|(?:[-*+]|\d{1,9}[.)])[ \t]*+(?:[`~]*+|\[[ xX]\]))?[ \t]*+\Z"
)


def close_open(text: str) -> str:
    """`text`, a prefix of a document, as well-formed Markdown.

    Closes fences, code, emphasis and strike-through; a half-written link is its text; what could still turn into
    something else (a lone list marker, a row of a table, trailing marks) is held back. What a prefix shows is a prefix
    of what a longer prefix shows, unless later text gives earlier marks another meaning (a star that never closes).
    """
    lines = text.split("\n")
    fence: OpenFence | None = None
    begins = ends = 0
    for number, line in enumerate(lines[:-1]):
        before, fence = fence, after_line(line, fence)
        begins = number if before is None else begins
        ends = ends if before is None or fence is not None else number + 1
    if fence is None or fence.is_left_by(lines[-1]):
        return _close_block(lines, ends)
    last = lines[-1].strip(" \t>")
    if not last or set(last) == {fence.marks[0]}:
        lines.pop()
    if begins == len(lines) - 1:  # no line of code stands in it yet
        return _close_block([*lines[:-1], ""])
    return "\n".join([*lines, fence.closer])


def _close_block(lines: list[str], first: int = 0) -> str:
    """Outside a fence: hold back the last line if its meaning may change, and close the marks of the last block, which
    begins at line `first` or later.
    """
    if lines[-1].strip() and (_HELD_LINE.match(lines[-1]) or FENCE_LINE.match(lines[-1])):
        lines = lines[:-1]
    head, tail = _last_block(_without_half_table(lines), first)
    shown = InlineMarks(tail).closed()
    lines = head.split("\n")
    return (
        head + shown
        if (shown and not _BOX.fullmatch(shown)) or not _HELD_LINE.match(lines[-1])
        else "\n".join(lines[:-1])
    ).rstrip()


def close_marks(text: str) -> tuple[str, str]:
    """`text`, which ends inside a block and never grows, with the block's marks closed and nothing held back; and the
    marks that open them again.
    """
    _, tail = _last_block(text.split("\n"))
    inline = InlineMarks(tail, growing=False)
    return (text.rstrip() + inline.marks, inline.openers) if inline.certain else (text, "")


def _last_block(lines: list[str], first: int = 0) -> tuple[str, str]:
    """The inline text of the last block, and the text before it."""
    start = max(first, len(lines) - 1)
    while start > first and lines[start - 1].strip() and not _BLOCK_START.match(lines[start]):
        start -= 1
    tail = "\n".join(lines[start:])
    marker = _BLOCK_START.match(tail)
    skip = marker.end() if marker else 0
    head = "".join(f"{line}\n" for line in lines[:start])
    return head + tail[:skip], tail[skip:]


def _without_half_table(lines: list[str]) -> list[str]:
    """Drop a row that is still being written, and a head without a complete row below it, which says how the table is
    shown; in a quotation too.
    """
    end = len(lines) - (lines != [] and not lines[-1].strip(_BEFORE_ROW))
    start = end
    while start > 0 and _is_row(lines[start - 1]):
        start -= 1
    growing = end == len(lines)
    headed = end - start > 1 and bool(DELIMITER_ROW.match(lines[start + 1].lstrip(_BEFORE_ROW)))
    if end - start - growing <= 1 + headed:
        return lines[:start] if start < end else lines
    return lines[:-1] if headed and growing else lines


def _is_row(line: str) -> bool:
    return line.lstrip(_BEFORE_ROW).startswith("|")
