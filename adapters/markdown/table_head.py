"""The head of a table that continues in another message."""

from __future__ import annotations

import re

DELIMITER_ROW = re.compile(r"[ \t:|]*+-[ \t:|-]*+\Z")
"""The line below a table's head."""
ROW_BEGUN = re.compile(r"(?P<quoted>[ >]*+)\|")
"""The start of a line that may be a row of a table, in a quotation too."""


def head_of_table(text: str, at: int, since: int = 0, known: str = "") -> str:
    """The two lines to be said again before the row that begins at `at`; empty where no table goes on there.

    Rows are taken for such where they begin with a bar. `known` is the answer for `since`, an earlier place.
    """
    begun = ROW_BEGUN.match(text, at)
    if begun is None or not text.endswith("\n", 0, at):
        return ""
    row = begun[0]
    start = at
    while (before := text.rfind("\n", 0, start - 1) + 1) < start and text.startswith(row, before):
        if start == since:
            return known
        start = before
    lines = text[start:at].split("\n")
    return f"{lines[0]}\n{lines[1]}\n" if len(lines) > 2 and DELIMITER_ROW.match(lines[1][len(row) - 1 :]) else ""


def before_head(text: str, start: int, end: int, known: int) -> int:
    """`end`, or the start of the table's head that a page from `start` would end with, or with its first line: a head
    stands above a row. What follows is looked at up to `known`.
    """
    lines: list[int] = []
    begun = end
    while start < begun and len(lines) < 3:
        begun = max(start, text.rfind("\n", start, begun - 1) + 1)
        if ROW_BEGUN.match(text, begun) is None:
            break
        lines.append(begun)
    if len(lines) == 1 and text[end:known].strip(" \t>|:-"):
        return end
    if len(lines) == 2 and not DELIMITER_ROW.match(text[lines[0] : end].lstrip(" >").rstrip("\n")):
        return end
    return lines[-1] if 0 < len(lines) < 3 and lines[-1] > start else end
