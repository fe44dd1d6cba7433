"""Discord's messages, edits, deletions and reactions in our words. Pure: no I/O, no library of Discord's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from adapters.adapter import Inbound
from adapters.discord.codec.addresses import PLATFORM, THREAD_TYPES, BotIdentity, address_of, snowflake
from adapters.discord.inbound.recent import Remembered
from adapters.ratings import rating_of_one
from runtime.core.address import Address
from runtime.core.message import Attachment, Quote

QUOTED_CHARS = 300
"""The number of characters that are kept of a quoted message."""

_WRITTEN_BY_PEOPLE = frozenset({0, 19})
"""Message types: an ordinary message and a reply. All others are said by Discord, or are bots' answers to commands."""
_TYPED_COMMAND = re.compile(r"/([a-z][\w-]{0,31})(?:\s+|$)", re.IGNORECASE)
_MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")

_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The part of a message's place that the message does not state.

    `parent`: the channel a thread belongs to, None outside threads. `ours`: a thread that we opened or speak in.
    `opens`: what is addressed to us here is answered in a thread that begins with it. `begun`: such a thread is there.
    `role`: the role Discord made for the bot in this server. `name_of` tells a role's or channel's name, if known.
    """

    parent: str | None = None
    ours: bool = False
    role: str | None = None
    name_of: Callable[[str], str | None] = lambda _: None
    opens: bool = False
    begun: bool = False


def inbound_of(message: _Json, us: BotIdentity, place: Place) -> Inbound | None:
    """A person's message, or None for messages of bots, webhooks and Discord itself.

    Raises KeyError, TypeError or ValueError for data that does not look like a message.
    """
    author = message["author"]
    if author.get("bot") or "webhook_id" in message or message.get("type", 0) not in _WRITTEN_BY_PEOPLE:
        return None
    private = "guild_id" not in message
    said = _said(message, us, place)
    addressed = private or place.ours or place.begun or said.to_us or _is_reply_to(message, us)
    command, text = _command(said.text, None if addressed else us.commands)
    if message.get("message_snapshots"):  # whoever passes a command on does not give it
        command, text = None, said.text
    attachments = tuple(_attachments(message))
    if not text and not attachments and not command and not said.to_us:
        return None
    opens = place.begun or (place.opens and addressed and command is None)
    return Inbound(
        address=_address(message, place, private=private, opens=opens),
        event_id=f"{us.id}:{snowflake(message['id'])}",
        person_id=f"{PLATFORM}:{snowflake(author['id'])}",
        person_name=name_of_person(author, message.get("member")),
        text=text,
        sent_at=datetime.fromisoformat(message["timestamp"]).astimezone(UTC),
        private=private,
        addressed=addressed or command is not None,
        command=command,
        attachments=attachments,
        message_id=str(message["id"]),
        quote=_quote(message, us, place),
        space=_text(message.get("guild_id")),
    )


def edit_of(message: _Json, us: BotIdentity, place: Place, known: Remembered | None) -> Inbound | None:
    """A person's edit, or None: Discord also reports previews that were unfolded. Raises as `inbound_of`."""
    changed_at = message.get("edited_timestamp")
    if changed_at is None or "author" not in message:
        return None
    read = inbound_of(message, us, replace(place, opens=False))
    if read is None:
        return None
    if known is not None:
        read = replace(read, address=known.address, addressed=known.addressed or read.addressed)
    sent_at = datetime.fromisoformat(changed_at).astimezone(UTC)
    text = f"/{read.command} {read.text}".rstrip() if read.command else read.text
    return replace(read, act="edit", command=None, text=text, sent_at=sent_at, event_id=f"{read.event_id}:{changed_at}")


def deletion_of(message_id: str, us: BotIdentity, known: Remembered | None, now: datetime) -> Inbound | None:
    """A person's deletion. Discord does not say whose message it was, so the result is None for an unremembered
    message.
    """
    if known is None:
        return None
    return Inbound(
        address=known.address,
        event_id=f"{us.id}:{message_id}:deleted",
        person_id=known.person_id,
        person_name=known.person_name,
        text="",
        sent_at=now,
        private=known.private,
        addressed=known.addressed,
        act="deletion",
        message_id=message_id,
        space=known.space,
    )


@dataclass(frozen=True, slots=True)
class Marked:
    """A reaction: `there` when it was put, False when it was taken away. `name` is its person's, "" if unknown."""

    message_id: str
    person: str
    name: str
    emoji: str
    there: bool


def marked_of(name: str, data: _Json, us: BotIdentity) -> Marked | None:
    """The reaction of an event; None for a bot's. Raises as `inbound_of`."""
    member = data.get("member") or {}
    if str(data["user_id"]) == us.id or member.get("user", {}).get("bot"):
        return None
    emoji = data["emoji"]
    shown = f":{emoji['name']}:" if emoji.get("id") else str(emoji["name"])
    person = name_of_person(member["user"], member) if member.get("user") else ""
    return Marked(str(data["message_id"]), str(data["user_id"]), person, shown, name == "MESSAGE_REACTION_ADD")


def reaction_of(
    marked: Marked, data: _Json, place: Place, known: Remembered | None, *, event_id: str, now: datetime
) -> Inbound:
    """A person's reaction to a message, or its removal: then `text` is empty. The id is that of our message, if it is
    ours.
    """
    private = "guild_id" not in data
    there = {**data, "id": marked.message_id}
    address = known.address if known is not None else _address(there, place, private=private, opens=place.begun)
    return Inbound(
        address=address,
        event_id=event_id,
        person_id=f"{PLATFORM}:{marked.person}",
        person_name=marked.name or marked.person,
        text=marked.emoji if marked.there else "",
        sent_at=now,
        private=private,
        addressed=private or place.ours or place.begun or known is None or known.addressed,
        act="reaction",
        message_id=marked.message_id,
        rating=rating_of_one(marked.emoji, there=marked.there),
        space=_text(data.get("guild_id")),
    )


def parent_of(channel: _Json) -> str | None:
    """The channel that a thread belongs to. The category, a channel's parent, does not count."""
    return str(channel["parent_id"]) if channel.get("type") in THREAD_TYPES else None


def name_of_person(user: _Json, member: _Json | None) -> str:
    """The name shown in the server, else the person's global name, else the account's."""
    return str((member or {}).get("nick") or user.get("global_name") or user["username"])


def _address(message: _Json, place: Place, *, private: bool, opens: bool) -> Address:
    """The address of a message. A thread that starts with a message has that message's id."""
    channel_id = str(message["channel_id"])
    if opens and not private and place.parent is None:
        return address_of(str(message["id"]), private=False, parent=channel_id)
    return address_of(channel_id, private=private, parent=place.parent)


def _is_reply_to(message: _Json, us: BotIdentity) -> bool:
    """Whether a message replies to one of ours, by the bot or through a webhook."""
    replied = message.get("referenced_message") or {}
    return _by_our_hook(replied, us) or bool(replied.get("author", {}).get("id") == us.id)


def _by_our_hook(message: _Json, us: BotIdentity) -> bool:
    return "webhook_id" in message and message.get("application_id") == us.application_id


def _quote(message: _Json, us: BotIdentity, place: Place) -> Quote | None:
    """The message that is replied to; those of our webhooks under the ids that sending returned."""
    replied = message.get("referenced_message")
    if not replied:
        return None
    number = str(replied["id"])
    known_as = f"{number}@{replied['webhook_id']}" if _by_our_hook(replied, us) else number
    text = _said(replied, us, place).text
    return Quote(known_as, name_of_person(replied["author"], replied.get("member")), text[:QUOTED_CHARS])


@dataclass(frozen=True, slots=True)
class _Said:
    """A text without the parts that only name its addressee."""

    text: str
    to_us: bool


def _said(message: _Json, us: BotIdentity, place: Place) -> _Said:
    """The text with mentions by visible names; mentions of us are left out, with their comma or colon."""
    ours = {f"<@{us.id}>", f"<@!{us.id}>", f"<@&{place.role}>"}
    names = {user["id"]: name_of_person(user, user.get("member")) for user in message.get("mentions", ())}
    to_us = False

    def shown(mention: re.Match[str]) -> str:
        nonlocal to_us
        if mention[0] in ours:
            to_us = True
            return "\0"
        name = names.get(mention[2]) or place.name_of(mention[2])
        return f"{mention[1][0]}{name}" if name else mention[0]

    text = _MENTION.sub(shown, _content(message).replace("\0", ""))
    text = re.sub(r"^\s*(?:\0\s*)+[,:]?\s*", "", text)
    text = re.sub(r"[ \t]*\0", "", text)
    return _Said(_EMOJI.sub(r":\1:", text).strip(), to_us)


def _content(message: _Json) -> str:
    """The text of the message, or of the messages forwarded with it."""
    passed_on = (snapshot["message"].get("content", "") for snapshot in message.get("message_snapshots", ()))
    return "\n".join(text for text in (message["content"], *passed_on) if text)


def _command(text: str, known: frozenset[str] | None) -> tuple[str | None, str]:
    """The command in the text, with its argument; with `known` None any word is a command."""
    found = _TYPED_COMMAND.match(text)
    if found is None or not (known is None or found[1].casefold() in known):
        return None, text
    return found[1].casefold(), text[found.end() :].strip()


def _attachments(message: _Json) -> Iterator[Attachment]:
    for holder in (message, *(snapshot["message"] for snapshot in message.get("message_snapshots", ()))):
        for file in holder.get("attachments", ()):
            yield Attachment(
                name=file["filename"],
                media_type=file.get("content_type") or "application/octet-stream",
                url=file["url"],
                size_bytes=file.get("size"),
            )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
