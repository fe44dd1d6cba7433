"""Telegram's updates in our words, and our addresses in Telegram's. Pure: no I/O, no library of Telegram's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from adapters.adapter import Inbound
from adapters.telegram.limits import MAX_MESSAGE_UNITS
from adapters.telegram.markup import Entity, Rendered, render, utf16_length, with_heading
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment

PLATFORM = "telegram"
MAX_NAME = 64
"""Characters of a speaker's name that are shown."""

COMMANDS: Mapping[str, str] = {
    "start": "Say hello",
    "help": "What you can do here",
    "stop": "Stop what is being answered",
    "new": "Begin a new conversation",
    "status": "What is going on",
}
"""The commands Telegram offers people while they type, with what each does."""

_FILE_KINDS: Mapping[str, tuple[str, str]] = {
    "document": ("document.bin", "application/octet-stream"),
    "animation": ("animation.mp4", "video/mp4"),
    "audio": ("audio.mp3", "audio/mpeg"),
    "voice": ("voice.ogg", "audio/ogg"),
    "video": ("video.mp4", "video/mp4"),
    "video_note": ("video.mp4", "video/mp4"),
    "sticker": ("sticker.webp", "image/webp"),
}

_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are on Telegram. `username` is without the @."""

    id: int
    username: str
    name: str


def address_of(message: _Json) -> Address:
    """Chat, and topic where the chat is a forum. A reply in an ordinary group has a thread id too, which is none."""
    thread = str(message["message_thread_id"]) if message.get("is_topic_message") else None
    return Address(PLATFORM, str(message["chat"]["id"]), thread)


def chat_id_of(address: Address) -> int:
    return int(address.conversation)


def thread_id_of(address: Address) -> int | None:
    return None if address.thread is None else int(address.thread)


def is_private(address: Address) -> bool:
    """Telegram numbers people above zero and groups below."""
    return chat_id_of(address) > 0


def page_of(text: str, speaker: Speaker, *, named: bool) -> Rendered:
    """CommonMark as a message, under its speaker's name where `named`; the gateway itself (id "") has no heading.

    Where columns or marks make it longer than Telegram takes, the text is shown as it is written.
    """
    name = " ".join(speaker.name.split())[:MAX_NAME] if named and speaker.id else ""
    room = MAX_MESSAGE_UNITS - (utf16_length(name) + 1 if name else 0)
    body = render(text)
    if utf16_length(body.text) > room:
        body = Rendered(text)
    return with_heading(name, body) if name else body


def inbound_of(update: _Json, bot: BotIdentity) -> Inbound | None:
    """What a person did, or None where there is nothing for us: bots, service messages, commands for another bot.

    Raises KeyError, TypeError or ValueError for what does not look like an update.
    """
    message = update.get("message")
    if message is None or not _is_from_person(message):
        return None
    text = message.get("text", message.get("caption"))
    attachments = tuple(_attachments(message))
    if text is None and not attachments:
        return None
    sender = message["from"]
    said = _said(text or "", message.get("entities", message.get("caption_entities", ())), bot)
    if said.for_another_bot:
        return None
    private = message["chat"]["type"] == "private"
    return Inbound(
        address=address_of(message),
        event_id=f"{bot.id}:{update['update_id']}",
        person_id=f"{PLATFORM}:{sender['id']}",
        person_name=" ".join(filter(None, (sender["first_name"], sender.get("last_name")))),
        text=said.text,
        sent_at=datetime.fromtimestamp(message["date"], UTC),
        private=private,
        addressed=private or said.to_bot or _is_reply_to(message, bot),
        command=said.command,
        attachments=attachments,
    )


def migration_of(update: _Json) -> tuple[int, int] | None:
    """The old and the new chat id where a group has become a supergroup."""
    message = update.get("message")
    if message is None or "migrate_to_chat_id" not in message:
        return None
    return int(message["chat"]["id"]), int(message["migrate_to_chat_id"])


def _is_from_person(message: _Json) -> bool:
    """`sender_chat` is set for a channel and for a group's administrators who hide: nobody that can be named."""
    sender = message.get("from")
    return sender is not None and not sender["is_bot"] and "sender_chat" not in message


def _is_reply_to(message: _Json, bot: BotIdentity) -> bool:
    """Whether a message of ours is replied to. In a topic everything replies to the message that opened the topic."""
    replied = message.get("reply_to_message", {})
    return replied.get("from", {}).get("id") == bot.id and "forum_topic_created" not in replied


@dataclass(frozen=True, slots=True)
class _Said:
    """A text without what only says whom it is for."""

    text: str
    command: str | None = None
    to_bot: bool = False
    for_another_bot: bool = False


def _said(text: str, entities: Sequence[_Json], bot: BotIdentity) -> _Said:
    units = text.encode("utf-16-le")
    known = [_entity(entity) for entity in entities]
    command = next((e for e in known if e.kind == "bot_command" and e.offset == 0), None)
    mentions = [(e, raw) for e, raw in zip(known, entities, strict=True) if _mentions(e, raw, units, bot)]
    name, target = "", ""
    if command is not None:
        name, _, target = _piece(units, command)[1:].partition("@")
        if target and target.casefold() != bot.username.casefold():
            return _Said(text, for_another_bot=True)
    cut = [entity for entity, _ in mentions] + ([command] if command is not None else [])
    return _Said(
        text=_without(units, cut) if cut else text,
        command=name.casefold() or None,
        to_bot=bool(cut),
    )


def _entity(entity: _Json) -> Entity:
    return Entity(entity["type"], entity["offset"], entity["length"])


def _piece(units: bytes, entity: Entity) -> str:
    return units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le", "replace")


def _mentions(entity: Entity, raw: _Json, units: bytes, bot: BotIdentity) -> bool:
    if entity.kind == "text_mention":
        return bool(raw["user"]["id"] == bot.id)
    return entity.kind == "mention" and _piece(units, entity).casefold() == f"@{bot.username}".casefold()


def _without(units: bytes, cut: Sequence[Entity]) -> str:
    """The text without the pieces, and without the white space and the comma or colon that belonged to them."""
    kept, position = [], 0
    for entity in sorted(cut, key=lambda e: e.offset):
        kept.append(units[position * 2 : entity.offset * 2].decode("utf-16-le", "replace"))
        position = entity.offset + entity.length
    kept.append(units[position * 2 :].decode("utf-16-le", "replace"))
    text = kept[0]
    for following in kept[1:]:
        rest = following if text.strip() else re.sub(r"^\s*[,:]", "", following)
        glue = text[-1:].isspace() and rest[:1].isspace()
        text = text + (rest[1:] if glue else rest)
    return text.strip()


def _attachments(message: _Json) -> Iterator[Attachment]:
    """The files of a message. A photo comes in several sizes, the largest last; an animation is a document as well."""
    if message.get("photo"):
        yield _attachment(message["photo"][-1], "photo.jpg", "image/jpeg")
    for kind, (name, media_type) in _FILE_KINDS.items():
        if kind in message and not (kind == "document" and "animation" in message):
            yield _attachment(message[kind], name, media_type)


def _attachment(file: _Json, name: str, media_type: str) -> Attachment:
    return Attachment(
        name=file.get("file_name", name),
        media_type=file.get("mime_type", media_type),
        url=f"telegram-file:{file['file_id']}",
        size_bytes=file.get("file_size"),
    )
