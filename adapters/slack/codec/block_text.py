"""The text of Slack's blocks, where a message has no other: of bots, of shared messages, and of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

_Json: TypeAlias = Mapping[str, Any]
Shown: TypeAlias = Callable[[str], str]
"""Slack's mrkdwn as people read it."""

_TABLES: Final = frozenset({"table", "data_table"})
_SILENT: Final = frozenset({"divider", "actions", "context_actions", "input"})
"""Blocks that say nothing."""


def text_of_blocks(blocks: Iterable[_Json], shown: Shown, *, instead: str = "") -> str:
    """What people read in the blocks; of one without words, what it is. Where nothing can be read, `instead`."""
    read = [(str(block.get("type") or ""), [line for line in _block(block, shown) if line]) for block in blocks]
    if instead and not any(words for _, words in read):
        return instead
    lines = list[str]()
    for kind, words in read:
        lines += words or ([f"[{kind.replace('_', ' ')}]"] if kind and kind not in _SILENT else [])
    return "\n".join(lines)


def tables_in(blocks: Iterable[_Json], shown: Shown) -> str:
    """The tables among the blocks, which no text beside them has."""
    return text_of_blocks((block for block in blocks if block.get("type") in _TABLES), shown)


def _block(block: _Json, shown: Shown) -> Iterator[str]:
    kind = block.get("type")
    if kind == "rich_text":
        for element in block.get("elements") or ():
            yield from _rich(element, shown)
    elif kind in _TABLES:
        for row in block.get("rows") or ():
            yield "| " + " | ".join(_cell(cell, shown) for cell in row) + " |"
    else:
        yield _named(_text(block.get("title"), shown), block.get("title_url"))
        for key in ("subtitle", "body", "text", "description", "details", "output"):
            yield _text(block.get(key), shown)
        yield from (_text(field, shown) for field in block.get("fields") or ())
        if kind == "context":
            yield " ".join(filter(None, (_text(one, shown) or _picture(one) for one in block.get("elements") or ())))
        yield _picture(block)
        accessory = block.get("accessory") or {}
        yield _picture(accessory)
        yield from links_in([accessory, *(block.get("elements") or ()), *(block.get("sources") or ())], shown)
        for key in ("blocks", "elements", "tasks"):  # containers, carousels and plans
            yield from (line for inner in _parts(block, key, kind) for line in _block(inner, shown))


def links_in(elements: Iterable[_Json], shown: Shown) -> Iterator[str]:
    """The buttons and sources that open an address."""
    for one in elements:
        if one.get("url") and one.get("type") in ("button", "url"):
            yield _named(_text(one.get("text"), shown), one["url"])


def _named(words: str, url: Any) -> str:
    return f"[{words}]({url})" if words and url else words


def _picture(holder: _Json) -> str:
    return f"[picture: {holder['alt_text']}]" if holder.get("alt_text") else ""


def _parts(block: _Json, key: str, kind: Any) -> Iterable[_Json]:
    return () if kind in ("context", "actions", "context_actions") else block.get(key) or ()


def _text(text: Any, shown: Shown) -> str:
    """A text object, a rich one, or a bare text."""
    if isinstance(text, str):
        return shown(text)
    if isinstance(text, Mapping) and text.get("type") == "rich_text":
        return "\n".join(filter(None, _block(text, shown)))
    if not isinstance(text, Mapping) or not isinstance(text.get("text"), str):
        return ""
    return shown(text["text"]) if text.get("type") == "mrkdwn" else str(text["text"])


def _cell(cell: Any, shown: Shown) -> str:
    if not isinstance(cell, Mapping):
        return ""
    return " ".join((_text(cell, shown) or str(cell.get("value", ""))).split())


def _rich(element: _Json, shown: Shown) -> Iterator[str]:
    inner = element.get("elements") or ()
    match element.get("type"):
        case "rich_text_list":
            ordered, indent = element.get("style") == "ordered", "  " * int(element.get("indent") or 0)
            for number, item in enumerate(inner, 1 + int(element.get("offset") or 0)):
                yield f"{indent}{f'{number}.' if ordered else '-'} {_inline(item, shown)}"
        case "rich_text_preformatted":
            yield f"```\n{_inline(element, shown)}\n```"
        case "rich_text_quote":
            yield from (f"> {line}" for line in _inline(element, shown).split("\n"))
        case _:
            yield _inline(element, shown)


def _inline(element: _Json, shown: Shown) -> str:
    return "".join(_piece(piece, shown) for piece in element.get("elements") or ())


def _piece(piece: _Json, shown: Shown) -> str:
    match piece.get("type"):
        case "text":
            text = str(piece["text"])
            return f"`{text}`" if (piece.get("style") or {}).get("code") else text
        case "link":
            label, url = piece.get("text"), str(piece["url"])
            return f"{label} ({url})" if label and label not in url else url
        case "user":
            return shown(f"<@{piece['user_id']}>")
        case "channel":
            return shown(f"<#{piece['channel_id']}>")
        case "usergroup":
            return shown(f"<!subteam^{piece['usergroup_id']}>")
        case "broadcast":
            return f"@{piece['range']}"
        case "emoji":
            return f":{piece['name']}:"
        case _:
            return str(piece.get("text") or piece.get("fallback") or piece.get("value") or "")
