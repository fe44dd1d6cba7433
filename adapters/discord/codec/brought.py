"""What a message on Discord brings: what it forwards, the cards in it, and what is no text; and its files.

A message, one that is answered and one that is forwarded have the same fields (Discord's Message and MessageSnapshot).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from mimetypes import guess_type
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from runtime.core.message import Attachment
from runtime.core.quote import Quote

_Json: TypeAlias = Mapping[str, Any]
_TEXT_DISPLAY: Final = 10
Shown: TypeAlias = Callable[[str], str]
"""A text of Discord's as people read it."""


def forwarded_in(message: _Json) -> list[_Json]:
    return [snapshot["message"] for snapshot in message.get("message_snapshots") or ()]


def words_of(message: _Json, shown: Shown) -> str:
    """The text of a message, and lines for what is no text."""
    texts = (message.get("content") or "", *_displayed(message.get("components")))
    return "\n".join(part for part in (*map(shown, texts), wordless_of(message)) if part.strip())


def wordless_of(message: _Json) -> str:
    lines = [f"[sticker {sticker['name']}]" for sticker in message.get("sticker_items") or ()]
    if poll := message.get("poll"):
        lines.append(f"[poll “{_medium(poll['question'])}”: {', '.join(_answers(poll))}]")
    if message.get("activity"):
        lines.append(f"[invitation to {(message.get('application') or {}).get('name') or 'an activity'}]")
    return "\n".join(lines)


def around_of(message: _Json, shown: Shown) -> tuple[Quote, ...]:
    passed_on = (
        Quote(
            "",
            "",
            words_of(one, shown),
            "forwarded",
            tuple(file.name for file in _files(one)),
            inside=cards_of(one, shown),
        )
        for one in forwarded_in(message)
    )
    return (*passed_on, *cards_of(message, shown))


def cards_of(message: _Json, shown: Shown) -> tuple[Quote, ...]:
    cards = (_card(embed, shown) for embed in message.get("embeds") or ())
    return tuple(card for card in cards if card.text)


def files_of(message: _Json) -> Iterator[Attachment]:
    """The files of a message, and of what it passes on."""
    for holder in (message, *forwarded_in(message)):
        yield from _files(holder)


def _files(message: _Json) -> Iterator[Attachment]:
    """The files of one message. Those that stand in its cards and components are not among its attachments."""
    for file in message.get("attachments") or ():
        yield _attachment(file["filename"], file["url"], file)
    for medium in (*map(_picture, message.get("embeds") or ()), *_media(message.get("components"))):
        url = (medium or {}).get("proxy_url")
        if medium and url:
            yield _attachment(urlsplit(url).path.rpartition("/")[2] or "file.bin", url, medium)


def _picture(embed: _Json) -> Any:
    """The picture of a card, or the one that a link alone leads to; of previews none."""
    return embed.get({"rich": "image", "image": "thumbnail"}.get(embed.get("type", "rich"), ""))


def _attachment(name: str, url: str, about: _Json) -> Attachment:
    type_ = about.get("content_type") or guess_type(name)[0] or "application/octet-stream"
    return Attachment(name, type_, url, about.get("size"))


def _media(components: Any) -> Iterator[_Json]:
    """The pictures and files among components, in their order."""
    for component in components or ():
        for holder in (component, *(component.get("items") or ())):
            yield from (holder[key] for key in ("media", "file") if holder.get(key))
        yield from _media([*(component.get("components") or ()), *filter(None, [component.get("accessory")])])


def names_of_files(message: _Json) -> tuple[str, ...]:
    return tuple(file.name for file in files_of(message))


def _displayed(components: Any) -> Iterator[str]:
    """The texts, links and pictures among components, of which messages of some bots consist (Components V2)."""
    for component in components or ():
        if component.get("type") == _TEXT_DISPLAY:
            yield component["content"]
        if component.get("url") and component.get("label"):  # a button
            yield f"[{component['label']}]({component['url']})"
        for shown in (*(component.get("items") or ()), *([component] if "media" in component else ())):
            yield f"[picture: {shown.get('description') or shown['media']['url']}]"
        yield from _displayed([*(component.get("components") or ()), *filter(None, [component.get("accessory")])])


def _answers(poll: _Json) -> Iterator[str]:
    votes = {count["id"]: count["count"] for count in (poll.get("results") or {}).get("answer_counts") or ()}
    for answer in poll.get("answers") or ():
        words = _medium(answer["poll_media"])
        yield f"{words} ({votes.get(answer.get('answer_id'), 0)})" if votes else words


def _card(embed: _Json, shown: Shown) -> Quote:
    author = embed.get("author") or embed.get("provider") or {}
    title, url = embed.get("title"), embed.get("url")
    footer = (embed.get("footer") or {}).get("text")
    lines: Sequence[str] = (
        f"[{title}]({url})" if title and url else title or "",
        shown(embed.get("description") or ""),
        *(f"{field['name']}: {shown(field['value'])}" for field in embed.get("fields") or ()),
        footer or "",
    )
    return Quote("", str(author.get("name") or ""), "\n".join(line for line in lines if line), "card")


def _medium(medium: _Json) -> str:
    emoji = (medium.get("emoji") or {}).get("name")
    return " ".join(part for part in (emoji, medium.get("text")) if part)
