"""Discord's events in our words, and our addresses in Discord's. Pure: no I/O, no library of Discord's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from adapters.adapter import Inbound
from adapters.discord.limits import MAX_HOOK_NAME, MAX_MESSAGE_UNITS, MAX_NONCE
from adapters.discord.markup import quiet, render, utf16_length, with_heading
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment

PLATFORM = "discord"
MAX_NAME = 64
"""Characters of a speaker's name that are shown above a text."""

COMMANDS: Mapping[str, str] = {
    "start": "Say hello",
    "help": "What you can do here",
    "stop": "Stop what is being answered",
    "new": "Begin a new conversation",
    "status": "What is going on",
}
"""The commands Discord offers people while they type, with what each does."""
COMMAND_TEXT = "text"
"""The name of a command's only option."""

THREAD_TYPES = frozenset({10, 11, 12})
"""Channel types that are threads: of announcements, public, private. A post of a forum is a public thread."""

PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Manage Webhooks": 1 << 29,
    "Send Messages in Threads": 1 << 38,
}
"""What the bot may do in a server, and no more. Bits: Discord's documentation, Permissions."""

_DM = "dm:"
_EPOCH_MS = 1420070400000
_WRITTEN_BY_PEOPLE = frozenset({0, 19})
"""Message types: an ordinary message and a reply. All others are said by Discord, or are bots' answers to commands."""
_COMMAND = 2
_CHAT_INPUT = 1
_TYPED_COMMAND = re.compile(r"/([a-z][\w-]{0,31})(?:\s+|$)", re.IGNORECASE)
_MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")
_REFUSED_IN_NAMES = (("discord", "disc-ord"), ("clyde", "cl-yde"))

_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are on Discord; the ids of a bot and of its application are often, but not always, the same."""

    id: str
    application_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """What a message does not say about where it is.

    `parent`: the channel a thread belongs to, None outside threads. `ours`: a thread that we opened or speak in.
    `role`: the role Discord made for the bot in this server. `name_of` tells a role's or channel's name, if known.
    """

    parent: str | None = None
    ours: bool = False
    role: str | None = None
    name_of: Callable[[str], str | None] = lambda _: None


def invite_link(application_id: str) -> str:
    """Where somebody who manages a server lets the bot in, with its permissions and commands."""
    permissions = sum(PERMISSIONS.values())
    scopes = "bot+applications.commands"
    return f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={permissions}"


def address_of(channel_id: str, *, private: bool, parent: str | None = None) -> Address:
    if private:
        return Address(PLATFORM, f"{_DM}{channel_id}")
    return Address(PLATFORM, channel_id) if parent is None else Address(PLATFORM, parent, channel_id)


def channel_id_of(address: Address) -> str:
    """Where a message to this address is posted: a thread is a channel to Discord."""
    return address.thread or address.conversation.removeprefix(_DM)


def mark_of(address: Address) -> str:
    """Under which name the last message seen there is remembered."""
    return address.thread or address.conversation


def private_channel_of(mark: str) -> str | None:
    """The channel of a private conversation's mark; None for any other."""
    return mark.removeprefix(_DM) if mark.startswith(_DM) else None


def is_private(address: Address) -> bool:
    return address.conversation.startswith(_DM)


def page_of(text: str, speaker: Speaker, *, named: bool) -> str:
    """CommonMark as a message, under its speaker's name where `named`; the gateway itself (id "") has no heading.

    Where columns or marks make it longer than Discord takes, the text is shown as it is written.
    """
    name = " ".join(speaker.name.split())[:MAX_NAME] if named and speaker.id else ""
    for body in (render(text), quiet(text)):
        page = with_heading(name, body) if name else body
        if utf16_length(page) <= MAX_MESSAGE_UNITS:
            return page
    return text


def hook_name_of(speaker: Speaker) -> str:
    """The name under which a webhook speaks; Discord refuses its own name and its mascot's within it."""
    name = " ".join(speaker.name.split())
    for refused, instead in _REFUSED_IN_NAMES:
        name = re.sub(refused, instead, name, flags=re.IGNORECASE)
    return name[:MAX_HOOK_NAME].strip() or "Agent"


def nonce_of(nonce: str) -> str:
    """As long as Discord takes it; equal for equal nonces."""
    return hashlib.blake2b(nonce.encode(), digest_size=MAX_NONCE // 2).hexdigest()


def snowflake_at(when: datetime) -> int:
    """The smallest id of what is made at that time: Discord's ids begin with their milliseconds."""
    return max(0, int(when.timestamp() * 1000) - _EPOCH_MS) << 22


def moment_of(snowflake: str) -> datetime:
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH_MS) / 1000, UTC)


def inbound_of(message: _Json, us: BotIdentity, place: Place) -> Inbound | None:
    """What a person wrote, or None where there is nothing for us: bots, webhooks, what Discord itself says.

    Raises KeyError, TypeError or ValueError for what does not look like a message.
    """
    author = message["author"]
    if author.get("bot") or "webhook_id" in message or message.get("type", 0) not in _WRITTEN_BY_PEOPLE:
        return None
    private = "guild_id" not in message
    said = _said(message, us, place)
    addressed = private or place.ours or said.to_us or _is_reply_to(message, us)
    command, text = _command(said.text, any_word=addressed)
    attachments = tuple(_attachments(message))
    if not text and not attachments and not command and not said.to_us:
        return None
    return Inbound(
        address=address_of(message["channel_id"], private=private, parent=place.parent),
        event_id=f"{us.id}:{message['id']}",
        person_id=f"{PLATFORM}:{author['id']}",
        person_name=_name(author, message.get("member")),
        text=text,
        sent_at=datetime.fromisoformat(message["timestamp"]).astimezone(UTC),
        private=private,
        addressed=addressed or command is not None,
        command=command,
        attachments=attachments,
    )


def command_of(interaction: _Json, us: BotIdentity) -> Inbound | None:
    """A command that was chosen from Discord's menu, or None for any other interaction. Raises as `inbound_of`."""
    if not is_command(interaction):
        return None
    data = interaction["data"]
    private = "guild_id" not in interaction
    member = interaction.get("member")
    person = member["user"] if member else interaction["user"]
    channel = interaction.get("channel", {})
    options = {option["name"]: option.get("value") for option in data.get("options", ())}
    return Inbound(
        address=address_of(interaction["channel_id"], private=private, parent=parent_of(channel)),
        event_id=f"{us.id}:{interaction['id']}",
        person_id=f"{PLATFORM}:{person['id']}",
        person_name=_name(person, member),
        text=str(options.get(COMMAND_TEXT, "")).strip(),
        sent_at=moment_of(interaction["id"]),
        private=private,
        addressed=True,
        command=str(data["name"]),
    )


def is_command(interaction: _Json) -> bool:
    """Whether it is a command from the menu, and not a button or something else."""
    of_menu = interaction.get("data", {}).get("type", _CHAT_INPUT) == _CHAT_INPUT
    return bool(interaction.get("type") == _COMMAND and of_menu)


def parent_of(channel: _Json) -> str | None:
    """The channel that a thread belongs to; a category, which is a channel's parent, is not meant."""
    return str(channel["parent_id"]) if channel.get("type") in THREAD_TYPES else None


def _is_reply_to(message: _Json, us: BotIdentity) -> bool:
    """Whether a message of ours is replied to: the bot's, or what an agent said through a webhook of ours."""
    replied = message.get("referenced_message") or {}
    by_hook = "webhook_id" in replied and replied.get("application_id") == us.application_id
    return bool(by_hook or replied.get("author", {}).get("id") == us.id)


@dataclass(frozen=True, slots=True)
class _Said:
    """A text without what only says whom it is for."""

    text: str
    to_us: bool


def _said(message: _Json, us: BotIdentity, place: Place) -> _Said:
    """Mentions by the names people see; ours left out, with the comma or colon that belonged to it."""
    ours = {f"<@{us.id}>", f"<@!{us.id}>", f"<@&{place.role}>"}
    names = {user["id"]: _name(user, user.get("member")) for user in message.get("mentions", ())}
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
    """What was written, or what was written in the messages that are passed on with it."""
    passed_on = (snapshot["message"].get("content", "") for snapshot in message.get("message_snapshots", ()))
    return "\n".join(text for text in (message["content"], *passed_on) if text)


def _command(text: str, *, any_word: bool) -> tuple[str | None, str]:
    """The command and its argument where the text is one; in a channel full of people and bots only ours count."""
    found = _TYPED_COMMAND.match(text)
    if found is None or not (any_word or found[1].casefold() in COMMANDS):
        return None, text
    return found[1].casefold(), text[found.end() :].strip()


def _name(user: _Json, member: _Json | None) -> str:
    """The name that is shown in the server, else the one that is shown everywhere, else the account's."""
    return str((member or {}).get("nick") or user.get("global_name") or user["username"])


def _attachments(message: _Json) -> Iterator[Attachment]:
    for holder in (message, *(snapshot["message"] for snapshot in message.get("message_snapshots", ()))):
        for file in holder.get("attachments", ()):
            yield Attachment(
                name=file["filename"],
                media_type=file.get("content_type") or "application/octet-stream",
                url=file["url"],
                size_bytes=file.get("size"),
            )
