"""History: messages written while nobody was connected, since Discord drops events that it could not deliver; and what
was said in a channel, a thread or a forum post before.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.discord.api.bot import PAGE, DiscordApi
from adapters.discord.codec.addresses import channel_id_of, private_channel_of
from adapters.discord.inbound.decode import earlier_of
from adapters.discord.inbound.listener import LastSaid
from adapters.records import Records, what_can_be_read
from runtime.core.address import Address
from runtime.core.errors import AdapterError, MessageGone, NotDelivered

MAX_CONVERSATIONS: Final = 100
"""The number of conversations that are read at once, the most recently active first."""
MAX_MESSAGES: Final = 500
"""The number of messages read of one conversation; of more, the oldest."""
OVERLAP_MS: Final = 60_000
"""How far before the newest mark a conversation without a mark is read: events of channels overtake each other."""
BEGUN: Final = "begun"

_log = logging.getLogger(__name__)
_Read: TypeAlias = Callable[[Callable[[], Awaitable[list[dict[str, Any]]]]], Awaitable[list[dict[str, Any]]]]

_STARTER: Final = 21
"""The type of the first message of a thread, which points to the message that the thread began with."""


class DiscordCatchUp:
    """Reads after the marks: up to which message each conversation was taken, by channel or thread id or `dm:<id>`.

    A channel without one is read after the newest of all: Discord's ids order all messages. A mark that is put after a
    message is safe may be lost in a crash: then messages come again, with the same event ids. Before anything was taken
    there is the mark `begun`, so that the first message of all is found again as well.

    What cannot be read: private conversations nobody has a mark of, which Discord does not list for bots; channels
    whose history the bot may not read; threads that were archived meanwhile; commands from the menu.
    """

    def __init__(self, api: DiscordApi, marks: Records, read: _Read) -> None:
        self._api = api
        self._marks = marks
        self._read = read
        self._known: dict[str, str] = {}
        self._loaded: str | None = None
        self._begun: str | None = None
        self._newest: dict[str, str] = {}
        self._floors: dict[str, str | None] = {}

    async def load(self, now: int) -> None:
        """Read the marks. Without any it begins `now`, as Discord's ids tell the time, and nothing was missed."""
        self._known = {name: str(mark) for name, mark in what_can_be_read(await self._marks.all(), int).items()}
        if not self._known:
            self._begun = str(now + (OVERLAP_MS << 22))
            await self._marks.put(BEGUN, self._begun)
        self._loaded = max(self._known.values(), key=int, default=None)

    async def taken(self, conversation: str, message: str, guild: str | None = None) -> None:
        """Mark a message as taken; marks never go back."""
        if guild is not None and int(message) > int(self._newest.get(guild, "0")):
            self._newest[guild] = message
        if int(message) > int(self._known.get(conversation, "0")):
            self._known[conversation] = message
            await self._marks.put(conversation, message)

    def begin(self, guilds: Iterable[str]) -> None:
        """Things were missed in these servers; each is reported by itself.

        Marks move on while one server is caught up with, and other connections live on while one is broken, so what
        holds for each server is fixed now: all before the newest message taken there, or before we began, was taken.
        """
        for guild in guilds:
            self._floors[guild] = _early(self._newest.get(guild, self._loaded) or self._newest_mark())
        if self._begun is not None:
            self._known[BEGUN], self._begun = self._begun, None

    async def private(self) -> AsyncIterator[dict[str, Any]]:
        """The missed messages of private conversations, oldest first in each."""
        marked = ((channel, mark) for key, mark in self._known.items() if (channel := private_channel_of(key)))
        for channel, mark in _newest(marked):
            for message in await self._missed(channel, mark):
                yield message

    async def public(self, talked_in: Iterable[LastSaid], guild: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """The missed messages in channels and threads of a server, or of all, oldest first in each."""
        last_said = {said.channel: said for said in talked_in}
        marks = {said.channel: self._mark(said) for said in last_said.values()}
        behind = [
            (said.channel, said.message)
            for said in last_said.values()
            if (mark := marks[said.channel]) is not None and int(said.message) > int(mark)
        ]
        if guild is not None:
            self._floors.pop(guild, None)
        for channel, _ in _newest(behind):
            for message in await self._missed(channel, marks[channel] or "0"):
                yield message | {"guild_id": last_said[channel].guild}

    def _mark(self, said: LastSaid) -> str | None:
        """The last message taken in a channel; None when nothing of it is to be read."""
        floor = self._floors[said.guild] if said.guild in self._floors else _early(self._newest_mark())
        return None if floor is None else self._known.get(said.channel, floor)

    def _newest_mark(self) -> str | None:
        return max(self._known.values(), key=int, default=None)

    async def _missed(self, channel: str, mark: str) -> list[dict[str, Any]]:
        missed: list[dict[str, Any]] = []
        while len(missed) < MAX_MESSAGES:
            after = missed[-1]["id"] if missed else mark
            try:
                page = await self._read(partial(self._api.after, channel, after))
            except AdapterError as error:
                _log.info("History cannot be read", extra={"channel": channel, "error": str(error)})
                return missed
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one channel, the others are read
                about = {"channel": channel, "error": repr(error)}
                _log.warning("History cannot be read", extra=about, exc_info=error)
                return missed
            missed += page
            if len(page) < PAGE:
                return missed
        _log.warning("More was written than can be caught up with", extra={"channel": channel, "messages": len(missed)})
        return missed


def _early(mark: str | None) -> str | None:
    return None if mark is None else str(max(0, int(mark) - (OVERLAP_MS << 22)))


def _newest(conversations: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(conversations, key=lambda each: int(each[1]), reverse=True)[:MAX_CONVERSATIONS]


async def earlier_in(api: DiscordApi, to: Address, before: str, at_most: int) -> Sequence[Inbound]:
    """What a thread or a forum post began with, and the latest before a message."""
    if to.thread == before:  # the thread begins with it
        return []
    channel = await api.channel(channel_id_of(to))
    found = await api.before(channel_id_of(to), before, min(PAGE, at_most))
    if to.thread is not None:
        found = await _with_starter(api, to.conversation, to.thread, found)
    space = None if channel.get("guild_id") is None else str(channel["guild_id"])
    kept = found if len(found) <= at_most else [found[0], *found[1 - at_most :]]
    return [one for message in kept for one in _understood(message, to, space)]


async def _with_starter(
    api: DiscordApi, parent: str, thread: str, found: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The messages behind the one with which the thread began: it has the thread's id, here or in the channel."""
    starters = [one for message in found if _stands_for_another(message) and (one := message.get("referenced_message"))]
    said = [message for message in found if not _stands_for_another(message)]
    if starters or any(str(message["id"]) == thread for message in said):
        return [*starters, *said]
    for channel in (thread, parent):
        try:
            return [await api.message(channel, thread), *said]
        except (MessageGone, NotDelivered):
            continue  # a thread of the channel's alone begins with nothing
    return said


def _stands_for_another(message: Mapping[str, Any]) -> bool:
    return bool(message.get("type") == _STARTER)


def _understood(message: Mapping[str, Any], to: Address, space: str | None) -> Sequence[Inbound]:
    try:
        said = earlier_of(message, to, space)
    except NOT_UNDERSTOOD as error:
        _log.info("A message of Discord's history is not understood", extra={"error": repr(error)})
        return []
    return [] if said is None else [said]
