"""A table as Slack's own block (Block Kit reference, table block and rich text block). Pure.

A cell is rich text, so nothing in it is a mark by chance and every link has its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it.token import Token

from adapters.markdown.tables import Cell, Table
from adapters.slack.codec.escaping import is_link
from adapters.slack.codec.mentions import person_of
from adapters.slack.limits import MAX_TABLE_CHARS, MAX_TABLE_COLUMNS, MAX_TABLE_ROWS

_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


def table_block(table: Table) -> dict[str, Any] | None:
    """The block; None for a table that is too large for one."""
    rows = [table.head, *table.rows]
    if len(rows) > MAX_TABLE_ROWS or len(table.head) > MAX_TABLE_COLUMNS:
        return None
    cells = [[list(_pieces(cell)) or [_text(" ", {})] for cell in row] for row in rows]
    if sum(_length(piece) for row in cells for cell in row for piece in cell) > MAX_TABLE_CHARS:
        return None
    settings = [{"align": align or "left", "is_wrapped": True} for align in table.aligns]
    return {"type": "table", "rows": [[_cell(cell) for cell in row] for row in cells], "column_settings": settings}


def _cell(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def _length(piece: dict[str, Any]) -> int:
    return len(piece.get("text", "")) + len(piece.get("url", "")) + len(piece.get("user_id", ""))


def _text(text: str, style: dict[str, bool]) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": dict(style)} if style else {})}


def _pieces(cell: Cell) -> Iterator[dict[str, Any]]:
    """The elements of a cell's rich text."""
    style: dict[str, bool] = {}
    targets: list[str] = []
    for token in cell:
        kind, _, edge = token.type.rpartition("_")
        if kind == "link":
            yield from _link_edge(token, targets)
        elif kind in _STYLES:
            style = style | {_STYLES[kind]: True} if edge == "open" else _without(style, _STYLES[kind])
        else:
            yield from _words(token, style, targets[-1] if targets else "")


def _without(style: dict[str, bool], name: str) -> dict[str, bool]:
    return {one: True for one in style if one != name}


def _link_edge(token: Token, targets: list[str]) -> Iterator[dict[str, Any]]:
    """Note where a link begins; a mention is written there, a target that Slack refuses where the link ends."""
    if token.nesting > 0:
        target = str(token.attrs.get("href", ""))
        targets.append("" if token.markup == "autolink" and not is_link(target) else target)
        if (person := person_of(target)) is not None:
            yield {"type": "user", "user_id": person[2:-1]}
    elif (target := targets.pop()) and not is_link(target) and not target.startswith("person:"):
        yield _text(f" ({target})", {})


def _words(token: Token, style: dict[str, bool], target: str) -> Iterator[dict[str, Any]]:
    if token.type == "image":
        target, text = str(token.attrs.get("src", "")), token.content or str(token.attrs.get("src", ""))
    else:
        text = "\n" if token.type.endswith("break") else token.content
    if token.type == "code_inline":
        style = style | {"code": True}
    if not text or person_of(target) is not None:
        return
    if is_link(target):
        yield _text(text, style) | {"type": "link", "url": target}
    else:
        yield _text(text, style)
