"""Tables, for platforms that have none, and the head of one that continues in another message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token
from msgspec import Struct
from rich.cells import cell_len

from adapters.markdown.mentions import UNPINGED

WIDTH_MAX = 44
"""The most columns of a fixed-width font that a phone shows without breaking lines. Chosen."""
Cell = Sequence[Token]

DELIMITER_ROW = re.compile(r"[ \t:|]*+-[ \t:|-]*+\Z")
"""The line below a table's head."""
ROW_BEGUN = re.compile(r"(?P<quoted>[ >]*+)\|")
"""The start of a line that may be a row of a table, in a quotation too."""


class TableTokens(Struct, frozen=True):
    """The inline tokens of a table's cells. `aligns` has left, center, right or nothing for each column."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    aligns: Sequence[str]


def table_of(stream: Iterator[Token]) -> TableTokens:
    """The table that has started; consumes its tokens up to its end."""
    rows: list[list[Cell]] = []
    aligns: list[str] = []
    for token in stream:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            aligns.append(str(token.attrs.get("style", "")).rpartition(":")[2])
        elif token.type == "inline":
            rows[-1].append(token.children or [])
    return TableTokens(rows[0], rows[1:], aligns)


def aligned(table: TableTokens) -> tuple[str, int]:
    """Lines for a fixed-width font, and how many rows they show: all before one too wide or with a link."""
    widths = [0] * len(table.head)
    texts: list[list[list[str]]] = []
    for shown in [table.head, *table.rows]:
        cells = [cell_text(cell).split("\n") for cell in shown]
        wider = [max(width, *map(cell_len, cell)) for width, cell in zip(widths, cells, strict=True)]
        linked = any(token.type in ("link_open", "image") for cell in shown for token in cell)
        if linked or sum(wider) + 3 * (len(wider) - 1) > WIDTH_MAX:
            break
        widths = wider
        texts.append(cells)
    if len(texts) < min(2, 1 + len(table.rows)):
        return "", 0
    lines: list[str] = []
    for row in texts[not any(map(cell_text, table.head)) :]:
        for number in range(max(map(len, row))):
            parts = [cell[number] if number < len(cell) else "" for cell in row]
            padded = [_padded(*part) for part in zip(parts, widths, table.aligns, strict=True)]
            lines.append(" | ".join(padded).rstrip())
        if row is texts[0]:
            lines.append("-+-".join("-" * width for width in widths))
    return "\n".join(lines), len(texts) - 1


def cell_text(cell: Cell) -> str:
    """The words of a cell, without formatting. In code nothing pings, so at signs need nothing invisible."""
    words = "".join("\n" if token.type.endswith("break") else token.content for token in cell)
    return words.replace(UNPINGED, "@")


def _padded(text: str, width: int, align: str) -> str:
    spare = width - cell_len(text)
    before = spare if align == "right" else spare // 2 if align == "center" else 0
    return " " * before + text + " " * (spare - before)


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
