"""A rich message (Bot API 10.1) as text, where one is answered or passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SILENT = ("divider", "anchor", "thinking")
"""Blocks that say nothing."""


def rich_text_of(message: Mapping[str, Any]) -> str:
    """The text of a message's rich content; "" without any."""
    return "\n".join(_blocks((message.get("rich_message") or {}).get("blocks")))


def blocks_in(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All blocks of a message's rich content, with those in others."""
    yield from _all((message.get("rich_message") or {}).get("blocks"))


def _all(blocks: Any) -> Iterator[Mapping[str, Any]]:
    for block in blocks or ():
        yield block
        yield from _all(block.get("blocks"))
        for item in block.get("items") or ():
            yield from _all(item.get("blocks"))


def _blocks(blocks: Any) -> Iterator[str]:
    for block in blocks or ():
        yield from _block(block)


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one block: by the fields that blocks of many types have in common."""
    match block.get("type"):
        case "preformatted" | "pre":
            yield f"```{block.get('language') or ''}\n{_inline(block.get('text'))}\n```"
        case "table":
            for row in block.get("cells") or ():
                yield "| " + " | ".join(_inline(cell.get("text")) for cell in row) + " |"
        case "buttons":
            yield from (_inline(button) for button in block.get("buttons") or () if button.get("url"))
        case "list":
            for item in block.get("items") or ():
                first, *rest = [*_blocks(item.get("blocks"))] or [_inline(item.get("text"))]
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case _:
            lines = [line for field in ("summary", "text", "expression") if (line := _inline(block.get(field)))]
            lines += _blocks(block.get("blocks"))
            yield from lines or (
                [] if block.get("type") in _SILENT else [f"[{str(block.get('type')).replace('_', ' ')}]"]
            )
    caption = block.get("caption")
    if line := _inline(caption.get("text") if isinstance(caption, Mapping) else caption):
        yield line


def _inline(text: Any) -> str:
    """Rich text: a string, several pieces, or a piece with a format."""
    if isinstance(text, str):
        return text
    if isinstance(text, Mapping):
        inner = _inline(next(filter(None, map(text.get, ("text", "expression", "alternative_text", "button"))), ""))
        url = text.get("url")
        return f"[{inner}]({url})" if url and url != inner else inner
    return "".join(map(_inline, text or ()))
