"""Slack's events in our words, and our addresses in Slack's. Pure: no I/O, no library of Slack's.

Messages are heard by the `message` events alone. An `app_mention` tells of the same message once more, and may lack its
files (hermes-agent#77141).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias
from zlib import crc32

from adapters.adapter import Inbound
from adapters.slack.escaping import bold, utf16_length
from adapters.slack.limits import MAX_SECTION_UNITS
from adapters.slack.markup import render
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment

PLATFORM = "slack"
MAX_NAME = 64
"""Characters of a speaker's name that are shown."""

COMMANDS = ("start", "help", "stop", "new", "status")
"""Words that are commands after `/` or `!`. Slack's own input takes a `/` at the very beginning for itself."""

SCOPES = (
    "channels:history",
    "chat:write",
    "chat:write.customize",
    "groups:history",
    "im:history",
    "mpim:history",
    "users:read",
)
"""What the bot's token must be allowed."""
OWN_NAMES = "chat:write.customize"
"""The scope without which every agent shows under the bot's name."""

_FACES = tuple(
    f":{name}:"
    for name in [
        "robot_face",
        "owl",
        "fox_face",
        "octopus",
        "dolphin",
        "bee",
        "turtle",
        "penguin",
        "koala",
        "hedgehog",
        "panda_face",
        "whale",
        "unicorn_face",
        "eagle",
        "tiger",
        "frog",
    ]
)
_FROM_PEOPLE = frozenset({None, "file_share", "thread_broadcast", "me_message"})
_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_COMMAND = re.compile(r"[/!]([a-z]+)(?:\s+|$)", re.IGNORECASE)

_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are on Slack. `scopes` is empty where Slack does not tell."""

    team_id: str
    team: str
    user_id: str
    bot_id: str
    name: str
    scopes: frozenset[str] = frozenset()

    @property
    def lacks(self) -> tuple[str, ...]:
        """The scopes that are missing, as far as that is known."""
        return tuple(scope for scope in SCOPES if scope not in self.scopes) if self.scopes else ()


@dataclass(frozen=True, slots=True)
class Face:
    """Under which name and icon a message appears."""

    username: str
    icon_emoji: str


def channel_of(address: Address) -> str:
    """The channel's id. Raises ValueError for what is not an address of ours."""
    _, separator, channel = address.conversation.partition(":")
    if not separator or not channel:
        raise ValueError(f"{address.conversation!r} is not a workspace and a channel")
    return channel


def is_private(address: Address) -> bool:
    """Slack's ids of conversations between two begin with D."""
    return channel_of(address).startswith("D")


def face_of(speaker: Speaker) -> Face | None:
    """An agent's name, and an icon that is always the same for it; None for the gateway itself (id "")."""
    name = " ".join(speaker.name.split())[:MAX_NAME]
    if not speaker.id or not name:
        return None
    return Face(name, _FACES[crc32(name.encode()) % len(_FACES)])


def page_of(text: str, heading: str | None) -> str:
    """CommonMark as a message in mrkdwn, under a bold line with the speaker's name where there is one."""
    if heading is None:
        return render(text, MAX_SECTION_UNITS)
    line = f"{bold(heading)}\n"
    return line + render(text, MAX_SECTION_UNITS - utf16_length(line))


def message_in(body: _Json, bot: BotIdentity) -> _Json | None:
    """The message in an event, if a person wrote it just now. Raises KeyError or AttributeError for other shapes."""
    event: _Json = body["event"]
    if event.get("type") != "message" or event.get("subtype") not in _FROM_PEOPLE:
        return None
    if "bot_id" in event or event["user"] in (bot.user_id, "USLACKBOT"):
        return None
    return event if event.get("text") or event.get("files") else None


def mentions(message: _Json, bot: BotIdentity) -> bool:
    """Whether the bot is mentioned."""
    return bot.user_id in _MENTION.findall(message.get("text", ""))


def people_in(message: _Json, bot: BotIdentity) -> list[str]:
    """The ids of the one who wrote and of those who are mentioned, the bot not among them."""
    return [user for user in (message["user"], *_MENTION.findall(message.get("text", ""))) if user != bot.user_id]


def in_direct_messages(message: _Json) -> bool:
    return bool(message["channel"].startswith("D") or message.get("channel_type") == "im")


def address_of(message: _Json, bot: BotIdentity) -> Address:
    """Channel and thread. A mention outside of threads begins one: its own."""
    thread = message.get("thread_ts")
    if thread is None and mentions(message, bot) and not in_direct_messages(message):
        thread = message["ts"]
    return Address(PLATFORM, f"{bot.team_id}:{message['channel']}", thread)


def inbound_of(body: _Json, bot: BotIdentity, names: Mapping[str, str], *, addressed: bool) -> Inbound:
    """What a person said. `names` has those of `people_in`; who is missing there is shown by the id.

    Raises KeyError, TypeError or ValueError for what does not look like a message.
    """
    message = body["event"]
    text = plain_text(message.get("text") or "", bot, names)
    command = _COMMAND.match(text) if addressed else None
    if command is not None and command[1].casefold() not in COMMANDS:
        command = None
    return Inbound(
        address=address_of(message, bot),
        event_id=body["event_id"],
        person_id=f"{PLATFORM}:{bot.team_id}:{message['user']}",
        person_name=names.get(message["user"], message["user"]),
        text=text[command.end() :].strip() if command is not None else text,
        sent_at=datetime.fromtimestamp(float(message["ts"]), UTC),
        private=in_direct_messages(message),
        addressed=addressed,
        command=command[1].casefold() if command is not None else None,
        attachments=tuple(_attachments(message)),
    )


def plain_text(text: str, bot: BotIdentity, names: Mapping[str, str]) -> str:
    """The text without mentions of the bot, people and channels by name, links and special characters as typed.

    A comma or colon goes with a mention at the beginning.
    """
    kept, position = "", 0
    for found in _REFERENCE.finditer(text):
        kept = _joined(kept, text[position : found.start()])
        position = found.end()
        if found[1] == f"@{bot.user_id}":
            if not kept.strip():
                kept, position = "", _after_address(text, position)
            continue
        kept += _shown(found[1], found[2], names)
    return _unescaped(_joined(kept, text[position:])).strip()


def _after_address(text: str, position: int) -> int:
    punctuation = re.compile(r"\s*[,:]?\s*").match(text, position)
    return punctuation.end() if punctuation is not None else position


def _joined(before: str, after: str) -> str:
    """Without the second of two blanks between which a mention stood."""
    return before + (after[1:] if before[-1:].isspace() and after[:1] == " " else after)


def _shown(target: str, label: str | None, names: Mapping[str, str]) -> str:
    """A reference in angle brackets as a person reads it (docs.slack.dev, formatting message text)."""
    if target.startswith("@"):
        return f"@{names.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in address:
        return address
    return f"{label} ({target})"


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _attachments(message: _Json) -> Iterator[Attachment]:
    """The files of a message; one from another organisation's channel comes with nothing but its id."""
    for file in message.get("files", ()):
        if file.get("mode") != "tombstone":
            yield Attachment(
                name=file.get("name") or "file.bin",
                media_type=file.get("mimetype") or "application/octet-stream",
                url=f"{PLATFORM}-file:{file['id']}",
                size_bytes=file.get("size"),
            )
