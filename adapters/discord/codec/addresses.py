"""Our addresses, names and nonces in Discord's form, and back. Pure: no I/O, no library of Discord's."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from adapters.capabilities import measure_utf16
from adapters.discord.codec.markup import as_written, people_in, render, with_heading
from adapters.discord.codec.payload import DiscordWords, Name
from adapters.discord.limits import MAX_HOOK_NAME, MAX_MESSAGE_UNITS, MAX_NONCE
from runtime.core.address import Address, Speaker

PLATFORM = "discord"
MAX_NAME = 64
"""Characters of a speaker's name that are shown above a text."""
THREAD_TYPES = frozenset({10, 11, 12})
"""Channel types that are threads: of announcements, public, private. A post of a forum is a public thread."""
_DM = "dm:"
_EPOCH_MS = 1420070400000
_SNOWFLAKE = re.compile(r"\d{1,20}", re.ASCII)
_REFUSED_IN_NAMES = (("discord", "disc-ord"), ("clyde", "cl-yde"))


@dataclass(frozen=True, slots=True)
class DiscordBot:
    """The identity of a bot on Discord; the ids of a bot and of its application are often, but not always, the same.

    `commands` are the words that are commands also where people talk with each other and other bots.
    """

    id: str
    application_id: str
    name: str
    commands: frozenset[str] = frozenset()


def address_of(channel_id: str, *, private: bool, parent: str | None = None) -> Address:
    if private:
        return Address(PLATFORM, f"{_DM}{channel_id}")
    return Address(PLATFORM, channel_id) if parent is None else Address(PLATFORM, parent, channel_id)


def channel_id_of(address: Address) -> str:
    """The channel in which a message to this address is posted: a thread is a channel to Discord."""
    return address.thread or address.conversation.removeprefix(_DM)


def mark_of(channel_id: str, *, private: bool) -> str:
    """The name of the mark for the last message taken in a channel or thread."""
    return f"{_DM}{channel_id}" if private else channel_id


def private_channel_of(mark: str) -> str | None:
    """The channel of a private conversation's mark; None for other marks."""
    return mark.removeprefix(_DM) if mark.startswith(_DM) else None


def is_private(address: Address) -> bool:
    return address.conversation.startswith(_DM)


def number_of(message: str) -> str:
    """Discord's own id of a message; our id of a webhook's message is `<message>@<webhook>`."""
    return message.partition("@")[0]


def page_of(text: str, speaker: Speaker, *, named: bool) -> DiscordWords:
    """CommonMark as a message, under its speaker's name where `named`; the gateway itself (id "") has no heading.

    Where columns or marks make it longer than Discord takes, the text is shown as it is written.
    """
    name = " ".join(speaker.name.split())[:MAX_NAME] if named and speaker.id else ""
    for body in (render(text), as_written(text)):
        page = with_heading(name, body) if name else body
        if measure_utf16(page) <= MAX_MESSAGE_UNITS:
            return DiscordWords(page, people_in(text))
    return DiscordWords(text)


def name_of(speaker: Speaker, avatar_url: str | None) -> Name:
    """The name and picture of a webhook's speaker. `{name}` in the picture's address is the speaker's name."""
    name = " ".join(speaker.name.split())
    picture = None if avatar_url is None else avatar_url.replace("{name}", quote(name, safe=""))
    for refused, instead in _REFUSED_IN_NAMES:
        name = re.sub(refused, instead, name, flags=re.IGNORECASE)
    return Name(name[:MAX_HOOK_NAME].strip() or "Agent", picture)


def answer_line(link: str) -> str:
    """A small line that names the message which a webhook's message answers; webhooks cannot reply."""
    return f"-# ↪ [in answer]({link})"


def link_to(server: str, channel_id: str, message: str | None = None) -> str:
    """The link to a channel of a server, or to a message in it; `@me` is the server of private conversations."""
    place = f"https://discord.com/channels/{server}/{channel_id}"
    return place if message is None else f"{place}/{message}"


def nonce_of(nonce: str) -> str:
    """A nonce within Discord's length; equal for equal nonces."""
    return hashlib.blake2b(nonce.encode(), digest_size=MAX_NONCE // 2).hexdigest()


def snowflake(value: object) -> str:
    """An id as Discord writes it. Raises ValueError for what is none."""
    if not is_snowflake(value):
        raise ValueError(f"{str(value)[:40]!r} is not an id of Discord's")
    return str(value)


def is_snowflake(value: object) -> bool:
    return _SNOWFLAKE.fullmatch(str(value)) is not None


def snowflake_at(when: datetime) -> int:
    """The smallest id of what is made at that time: Discord's ids begin with their milliseconds."""
    return max(0, int(when.timestamp() * 1000) - _EPOCH_MS) << 22


def moment_of(snowflake: str) -> datetime:
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH_MS) / 1000, UTC)
