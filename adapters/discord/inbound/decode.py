"""Discord's messages, edits, deletions and reactions in our words. Pure: no I/O, no library of Discord's.

The newest messages of people are kept, because Discord repeats neither their authors nor their texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.decoding import GONE, UNREAD, files_answered, rating_of_one
from adapters.discord.codec.addresses import PLATFORM, THREAD_TYPES, DiscordBot, address_of, snowflake
from adapters.discord.codec.brought import around_of, files_of, forwarded_in, names_of_files, wordless_of, words_of
from adapters.recent import RecentValues
from runtime.core.address import Address
from runtime.core.quote import Quote

_REPLY = 19
_WRITTEN_BY_PEOPLE = frozenset({0, _REPLY})
"""Message types: an ordinary message and a reply. All others are said by Discord, or are bots' answers to commands."""
_ANSWERS_OF_BOTS = frozenset({20, 23})
"""Message types of bots: an answer to a command, and to one from the menu of a message or a person."""
_TYPED_COMMAND = re.compile(r"/([a-z][\w-]{0,31})(?:\s+|$)", re.IGNORECASE)
_MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")
_TIME = re.compile(r"<t:(-?\d{1,12})(?::\w)?>")
_COMMAND_LINK = re.compile(r"</([^:>\n]{1,100}):\d+>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")

_Json: TypeAlias = Mapping[str, Any]

MAX_REMEMBERED: Final = 5000


class RecentMessages:
    """By Discord's ids of messages and of people; the oldest are forgotten, and all when the process ends."""

    def __init__(self) -> None:
        self.messages = RecentValues[str, Inbound](MAX_REMEMBERED)
        """Without what was said."""
        self._names = RecentValues[str, str](MAX_REMEMBERED)

    def note(self, item: Inbound) -> None:
        self._names.keep(item.person_id, item.person_name)
        if item.act in ("message", "edit") and item.message_id is not None:
            bare = replace(item, text="", command=None, attachments=(), quote=None, around=())
            self.messages.keep(item.message_id, bare)

    def name(self, person_id: str) -> str:
        """The person's last known name; "" if unknown."""
        return self._names.get(person_id) or ""


class MessagePlace(Struct, frozen=True):
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


def inbound_of(message: _Json, us: DiscordBot, place: MessagePlace) -> Inbound | None:
    """A person's message; None for those of bots, webhooks and Discord. Raises as NOT_UNDERSTOOD says."""
    author = message["author"]
    if author.get("bot") or "webhook_id" in message or message.get("type", 0) not in _WRITTEN_BY_PEOPLE:
        return None
    private = "guild_id" not in message
    said, to_us = _said(message, us, place)
    addressed = private or place.ours or place.begun or to_us or _is_reply_to(message, us)
    command, text = _command(said, None if addressed else us.commands)
    if message.get("message_snapshots"):  # whoever passes a command on does not give it
        command, text = None, said
    shown = partial(_shown, names=_names(message, place))
    answered = files_of(message.get("referenced_message") or {})
    attachments = (*files_of(message), *files_answered(answered, ours=_is_reply_to(message, us)))
    text, around = "\n".join(filter(None, (text, wordless_of(message)))), around_of(message, shown)
    if not (text or attachments or around or command or to_us):
        if not addressed:
            return None
        text = UNREAD
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
        around=around,
        space=_text(message.get("guild_id")),
    )


def earlier_of(message: _Json, to: Address, space: str | None) -> Inbound | None:
    """What a person, or a bot, has said in a place; None for what Discord says. Raises as `inbound_of`."""
    author = message["author"]
    is_bot = bool(author.get("bot") or "webhook_id" in message)
    if message.get("type", 0) not in (*_WRITTEN_BY_PEOPLE, *(_ANSWERS_OF_BOTS if is_bot else ())):
        return None
    shown = partial(_shown, names=_names(message, MessagePlace()))
    answered = message.get("referenced_message")
    return Inbound(
        address=to,
        event_id="",
        person_id="" if is_bot else f"{PLATFORM}:{snowflake(author['id'])}",
        person_name=name_of_person(author, message.get("member")),
        text=words_of(message, shown),
        sent_at=datetime.fromisoformat(message["timestamp"]).astimezone(UTC),
        private=False,
        addressed=False,
        attachments=tuple(files_of(message)),
        message_id=str(message["id"]),
        quote=_quoted(answered, str(answered["id"]), MessagePlace()) if answered else None,
        around=around_of(message, shown),
        space=space,
    )


def edit_of(message: _Json, us: DiscordBot, place: MessagePlace, known: Inbound | None) -> Inbound | None:
    """A person's edit, if it is one. One that addresses us for the first time is the message. As `inbound_of`."""
    changed_at = message.get("edited_timestamp")
    if changed_at is None or "author" not in message:
        return None
    late = inbound_of(message, us, place) if known is not None and not known.addressed else None
    if late is not None and late.addressed:
        return replace(late, sent_at=datetime.fromisoformat(changed_at).astimezone(UTC))
    read = inbound_of(message, us, replace(place, opens=False))
    if read is None:
        return None
    if known is not None:
        read = replace(read, address=known.address, addressed=known.addressed or read.addressed)
    sent_at = datetime.fromisoformat(changed_at).astimezone(UTC)
    text = f"/{read.command} {read.text}".rstrip() if read.command else read.text
    return replace(read, act="edit", command=None, text=text, sent_at=sent_at, event_id=f"{read.event_id}:{changed_at}")


def deletion_of(message_id: str, us: DiscordBot, known: Inbound | None, now: datetime) -> Inbound | None:
    """A person's deletion. Discord does not say whose message it was: None for one that is not remembered."""
    if known is None:
        return None
    return replace(known, event_id=f"{us.id}:{message_id}:deleted", sent_at=now, act="deletion", message_id=message_id)


class Marked(Struct, frozen=True):
    """A reaction: `there` when it was put, False when it was taken away. `name` is its person's, "" if unknown."""

    message_id: str
    person: str
    name: str
    emoji: str
    there: bool


def marked_of(name: str, data: _Json, us: DiscordBot) -> Marked | None:
    """The reaction of an event; None for a bot's. Raises as `inbound_of`."""
    member = data.get("member") or {}
    if str(data["user_id"]) == us.id or member.get("user", {}).get("bot"):
        return None
    emoji = data["emoji"]
    shown = f":{emoji['name']}:" if emoji.get("id") else str(emoji["name"])
    person = name_of_person(member["user"], member) if member.get("user") else ""
    return Marked(str(data["message_id"]), str(data["user_id"]), person, shown, name == "MESSAGE_REACTION_ADD")


def reaction_of(
    marked: Marked, data: _Json, place: MessagePlace, known: Inbound | None, *, event_id: str, now: datetime
) -> Inbound:
    """A person's reaction to a message, or its removal: then `text` is empty."""
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
    return str((member or {}).get("nick") or user.get("global_name") or user["username"])


def _address(message: _Json, place: MessagePlace, *, private: bool, opens: bool) -> Address:
    """The address of a message. A thread that starts with a message has that message's id."""
    channel_id = str(message["channel_id"])
    if opens and not private and place.parent is None:
        return address_of(str(message["id"]), private=False, parent=channel_id)
    return address_of(channel_id, private=private, parent=place.parent)


def _is_reply_to(message: _Json, us: DiscordBot) -> bool:
    """Whether a message replies to one of ours, by the bot or through a webhook."""
    replied = message.get("referenced_message") or {}
    return _by_our_hook(replied, us) or bool(replied.get("author", {}).get("id") == us.id)


def _by_our_hook(message: _Json, us: DiscordBot) -> bool:
    return "webhook_id" in message and message.get("application_id") == us.application_id


def _quote(message: _Json, us: DiscordBot, place: MessagePlace) -> Quote | None:
    """The message that is replied to; those of our webhooks under the ids that sending returned."""
    replied = message.get("referenced_message")
    if not replied:
        gone = message.get("type") == _REPLY and (message.get("message_reference") or {}).get("message_id")
        return Quote(str(gone), "", GONE) if gone else None
    number = str(replied["id"])
    return _quoted(replied, f"{number}@{replied['webhook_id']}" if _by_our_hook(replied, us) else number, place)


def _quoted(replied: _Json, known_as: str, place: MessagePlace) -> Quote:
    author = replied["author"]
    shown = partial(_shown, names=_names(replied, place))
    is_person = not author.get("bot") and "webhook_id" not in replied
    return Quote(
        known_as,
        name_of_person(author, replied.get("member")),
        words_of(replied, shown),
        files=names_of_files(replied),
        inside=around_of(replied, shown),
        person=f"{PLATFORM}:{author['id']}" if is_person else "",
    )


def _said(message: _Json, us: DiscordBot, place: MessagePlace) -> tuple[str, bool]:
    """The text with mentions by visible names, and whether one is of us; those are left out, with comma or colon."""
    ours = {f"<@{us.id}>", f"<@!{us.id}>", f"<@&{place.role}>"}
    text = _shown(message["content"].replace("\0", ""), names=_names(message, place), ours=ours)
    to_us = "\0" in text
    text = re.sub(r"^\s*(?:\0\s*)+[,:]?\s*", "", text)
    text = re.sub(r"[ \t]*\0", "", text)
    return text.strip(), to_us


def _names(message: _Json, place: MessagePlace) -> Callable[[str], str | None]:
    told = [user for one in (message, *forwarded_in(message)) for user in one.get("mentions") or ()]
    people = {user["id"]: name_of_person(user, user.get("member")) for user in told}
    return lambda id_: people.get(id_) or place.name_of(id_)


def _shown(text: str, names: Callable[[str], str | None], ours: Collection[str] = ()) -> str:
    """A text as people read it; mentions of us become a sign of their own."""

    def shown(mention: re.Match[str]) -> str:
        if mention[0] in ours:
            return "\0"
        name = names(mention[2])
        return f"{mention[1][0]}{name}" if name else mention[0]

    text = _COMMAND_LINK.sub(r"/\1", _TIME.sub(_time, _MENTION.sub(shown, text)))
    return _EMOJI.sub(r":\1:", text)


def _time(found: re.Match[str]) -> str:
    try:
        return f"{datetime.fromtimestamp(int(found[1]), UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return found[0]


def _command(text: str, known: frozenset[str] | None) -> tuple[str | None, str]:
    """The command in the text, with its argument; with `known` None any word is a command."""
    found = _TYPED_COMMAND.match(text)
    if found is None or not (known is None or found[1].casefold() in known):
        return None, text
    return found[1].casefold(), text[found.end() :].strip()


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
