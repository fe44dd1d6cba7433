"""The head of a table that continues in another message."""

from __future__ import annotations

import re

DELIMITER_ROW = re.compile(r"[ \t:|]*+-[ \t:|-]*+\Z")
"""The line below a table's head."""


def head_of_table(text: str, at: int, since: int = 0, known: str = "") -> str:
    """The two lines to be said again before the row that begins at `at`; empty where no table goes on there.

    Rows are taken for such where they begin with a bar. `known` is the answer for `since`, an earlier place.
    """
    if not text.startswith("|", at) or not text.endswith("\n", 0, at):
        return ""
    start = at
    while (before := text.rfind("\n", 0, start - 1) + 1) < start and text.startswith("|", before):
        if start == since:
            return known
        start = before
    lines = text[start:at].split("\n")
    return f"{lines[0]}\n{lines[1]}\n" if len(lines) > 2 and DELIMITER_ROW.match(lines[1]) else ""
