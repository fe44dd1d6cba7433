"""What a message on Slack brings: shared messages, cards of links and apps, and blocks in place of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from adapters.slack.codec.addresses import PLATFORM, SlackBot, plain_text
from runtime.core.quote import MAX_LEVELS, Quote

_Json: TypeAlias = Mapping[str, Any]
_UNREAD: Final[Mapping[str, str]] = {"quip": "canvas", "canvas": "canvas", "list": "list"}
_WRITTEN: Final = frozenset({"rich_text", "table", "data_table", "call"})
Shown: TypeAlias = Callable[[str], str]
"""Slack's mrkdwn as people read it."""
_TABLES: Final = frozenset({"table", "data_table"})
_SILENT: Final = frozenset({"divider", "actions", "context_actions", "input"})


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


def shown_by(bot: SlackBot, names: Mapping[str, str]) -> Shown:
    """How people read a text of Slack's in which nobody is addressed."""
    known = {**names, bot.user_id: bot.name}
    return lambda text: plain_text(text, "", known)


def unread_kind(file: _Json) -> str:
    """What a file is that apps are not given: a canvas or a list; "" for others."""
    return _UNREAD.get(str(file.get("filetype")), "") or _UNREAD.get(str(file.get("mode")), "")


def wordless_of(message: _Json) -> str:
    lines = ["[huddle, which apps cannot hear]"] if message.get("room") else []
    for block in message.get("blocks") or ():
        if block.get("type") == "call":
            name = ((block.get("call") or {}).get("v1") or {}).get("name")
            lines.append(f"[call “{name}”]" if name else "[call]")
    lines += [
        f"[{kind} “{file.get('title') or file.get('name') or ''}”, which apps cannot read]"
        for file in message.get("files") or ()
        if (kind := unread_kind(file))
    ]
    return "\n".join(lines)


def shares_in(message: _Json) -> list[_Json]:
    """The shared messages and cards of a message, in its order, and not the tables that stand beside its text."""
    return [one for one in message.get("attachments") or () if not _is_table(one)]


def tables_of(message: _Json, shown: Shown) -> str:
    return tables_in([*(message.get("blocks") or ()), *_attached_tables(message)], shown)


def _attached_tables(message: _Json) -> Iterator[_Json]:
    for one in message.get("attachments") or ():
        if _is_table(one):
            yield from one["blocks"]


def files_of(message: _Json, level: int = 0) -> Iterator[_Json]:
    """The files of what a message shares, each once, to the second level."""
    for one in shares_in(message) if level < MAX_LEVELS else ():
        for holder in (one, *_messages(one)):
            yield from holder.get("files") or ()
        for inner in _messages(one):
            yield from files_of(inner, level + 1)


def quotes_of(message: _Json, bot: SlackBot, shown: Shown, level: int = 0) -> tuple[Quote, ...]:
    shares = shares_in(message) if level < MAX_LEVELS else ()
    return tuple(quote for one in shares if (quote := _quote(one, bot, shown, level)) is not None)


def _quote(shared: _Json, bot: SlackBot, shown: Shown, level: int) -> Quote | None:
    is_message = bool(shared.get("is_msg_unfurl") or shared.get("is_share") or shared.get("message_blocks"))
    inside = [quote for inner in _messages(shared) for quote in quotes_of(inner, bot, shown, level + 1)]
    holders = (shared, *_messages(shared))
    files = [str(file.get("name") or "file.bin") for holder in holders for file in holder.get("files") or ()]
    text = "\n".join(line for line in _lines(shared, shown, is_message=is_message) if line)
    author, author_id = str(shared.get("author_name") or shared.get("service_name") or ""), shared.get("author_id")
    if not (text or inside or files):
        return None
    return Quote(
        str(shared.get("ts", "")) if is_message else "",
        author,
        text,
        "shared" if is_message else "card",
        tuple(dict.fromkeys(files)),
        tuple(inside),
        person=f"{PLATFORM}:{bot.team_id}:{author_id}" if author_id and not shared.get("bot_id") else "",
    )


def _lines(shared: _Json, shown: Shown, *, is_message: bool) -> Iterator[str]:
    fallback = str(shared.get("fallback") or "")
    fallback = "" if fallback == "[no preview available]" else shown(fallback)
    written = [line for line in _card(shared, shown) if line]
    yield from written
    yield text_of_blocks(shared.get("blocks") or (), shown, instead="" if written else fallback)
    if not is_message:
        yield shown(str(shared.get("footer") or ""))
        yield from links_in(shared.get("actions") or (), shown)


def _card(shared: _Json, shown: Shown) -> Iterator[str]:
    yield shown(str(shared.get("pretext") or ""))
    title, link = shown(str(shared.get("title") or "")), shared.get("title_link") or shared.get("from_url")
    if title:
        yield f"[{title}]({link})" if link else title
    text = shown(str(shared.get("text") or ""))
    said = (said_in(one, shown, text, of_bot=_is_bots({"text": text, **one})) for one in _messages(shared))
    yield "\n".join(filter(None, said)) or text
    for field in shared.get("fields") or ():
        yield ": ".join(shown(str(field[key])) for key in ("title", "value") if field.get(key))


def said_in(message: _Json, shown: Shown, text: str = "", *, of_bot: bool) -> str:
    """The words of a message, whose text may be given: a bot's are its blocks, beside which its text is a stand-in."""
    blocks, text = message.get("blocks") or (), text or shown(message.get("text") or "")
    if of_bot:
        parts = (text_of_blocks(blocks, shown, instead=text), tables_in(_attached_tables(message), shown))
    else:
        parts = (text, tables_of(message, shown))
    return "\n".join(filter(None, parts))


def _is_bots(message: _Json) -> bool:
    """Whether a message is a bot's: it says so, or has what no person can write."""
    kinds = {block.get("type") for block in message.get("blocks") or ()}
    return bool(message.get("bot_id")) or not kinds <= _WRITTEN or (bool(kinds) and not message.get("text"))


def _messages(shared: _Json) -> Iterator[_Json]:
    """The messages that a share has in full."""
    for one in shared.get("message_blocks") or ():
        yield one.get("message") or {}


def _is_table(attachment: _Json) -> bool:
    blocks = attachment.get("blocks") or ()
    return bool(blocks) and all(block.get("type") in ("table", "data_table") for block in blocks)
