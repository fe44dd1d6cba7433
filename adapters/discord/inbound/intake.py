"""Discord's events as people's acts, completed from history where events are missing, which is caught up with."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.discord.api.bot import PAGE, DiscordApi
from adapters.discord.api.calls import NO_ANSWER, UnreadableAnswer
from adapters.discord.codec.addresses import (
    DiscordBot,
    channel_id_of,
    mark_of,
    private_channel_of,
    snowflake,
    snowflake_at,
)
from adapters.discord.inbound.decode import (
    MessagePlace,
    RecentMessages,
    deletion_of,
    earlier_of,
    edit_of,
    inbound_of,
    marked_of,
    parent_of,
    reaction_of,
)
from adapters.discord.inbound.listener import LOST, DiscordListener, LastSaid
from adapters.discord.inbound.menu import InteractionMenu
from adapters.discord.inbound.shard import ShardEvent, ShardSession
from adapters.discord.outbound.threads import DiscordThreads
from adapters.platform_clock import PlatformClock
from adapters.records import Records, what_can_be_read
from adapters.retrying import MayFail, PlatformPatience
from runtime.core.address import Address
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered

_NO_USE: Final = (AuthFailed, NotDelivered, MessageGone)
"""The failures of a call that would fail again."""
_PASSED_OVER: Final = "An event of Discord's is not understood and is ignored"
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_Message: TypeAlias = Mapping[str, Any]
_Taken: TypeAlias = tuple[Inbound, Callable[[], Awaitable[None]]]
"""A person's act, and the work to do once it is stored."""

MAX_CONVERSATIONS: Final = 100
"""The number of conversations that are read at once, the most recently active first."""
MAX_MESSAGES: Final = 500
"""The number of messages read of one conversation; of more, the oldest."""
OVERLAP_MS: Final = 60_000
"""How far before the newest mark a conversation without a mark is read: events of channels overtake each other."""
BEGUN: Final = "begun"

_Read: TypeAlias = Callable[[Callable[[], Awaitable[list[dict[str, Any]]]]], Awaitable[list[dict[str, Any]]]]

_STARTER: Final = 21
"""The type of the first message of a thread, which points to the message that the thread began with."""


class BotParts(Struct, frozen=True):
    """One bot's parts. With `opens_threads`, a message to the bot in a channel is answered in a thread."""

    api: DiscordApi
    menu: InteractionMenu
    threads: DiscordThreads
    known_as: Callable[[str], str]
    opens_threads: bool


class DiscordIntake:
    def __init__(self, ours: BotParts, session: ShardSession, clock: PlatformClock, marks: Records) -> None:
        self._ours = ours
        self._clock = clock
        self.listener = DiscordListener(session, ours.api, clock, self._heard)
        self._catch_up = DiscordCatchUp(ours.api, marks, self._asked)
        self._recent = RecentMessages()
        self._tasks: TaskGroup | None = None

    async def run(self) -> None:
        async with anyio.create_task_group() as self._tasks:
            await self.listener.run()

    async def items(self, us: DiscordBot) -> AsyncGenerator[Inbound, None]:
        """People's events. An item is marked as taken, or a command acknowledged, when the next one is asked for."""
        now = self._clock.now() - timedelta(seconds=1)  # ids of one millisecond are alike
        await self._catch_up.load(snowflake_at(now))
        while True:
            async for item, safe in self._taken(await self.listener.next(), us):
                self._recent.note(item)
                self._ours.threads.expect(item)
                yield item
                await safe()

    async def _taken(self, heard: ShardEvent, us: DiscordBot) -> AsyncIterator[_Taken]:
        data = heard.data
        match heard.name:
            case "INTERACTION_CREATE":
                item = await self._ours.menu.item(data, us)
                if item is not None:
                    yield item, partial(self._ours.menu.safe, data)
            case "MESSAGE_UPDATE" | "MESSAGE_DELETE" | "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE":
                item = await self._changed(heard, us)
                if item is not None:
                    yield item, _nothing
            case _:
                async for message in self._messages(heard):
                    item = await self._said(message, us)
                    if item is not None:
                        mark = mark_of(str(message["channel_id"]), private=item.private)
                        yield item, partial(self._catch_up.taken, mark, str(message["id"]), item.space)

    async def _messages(self, heard: ShardEvent) -> AsyncIterator[_Message]:
        """The message of an event, or the messages that were missed before it."""
        name, data = heard.name, heard.data
        if name == "MESSAGE_CREATE":
            yield data
        elif name == "READY":
            self._catch_up.begin([str(guild["id"]) for guild in data.get("guilds", ())])
            if (data.get("shard") or [0])[0] == 0:  # private conversations belong to the first connection
                async for message in self._catch_up.private():
                    yield message
        elif name in ("GUILD_CREATE", LOST.name):
            guild = data.get("id")
            talked_in = self.listener.talked_in(guild)
            if guild is None:
                self._catch_up.begin({said.guild for said in talked_in})
                async for message in self._catch_up.private():
                    yield message
            async for message in self._catch_up.public(talked_in, guild):
                yield message

    async def _said(self, message: _Message, us: DiscordBot) -> Inbound | None:
        with MayFail(_log.warning, _PASSED_OVER, NOT_UNDERSTOOD):
            return inbound_of(message, us, await self._place(message, str(message["id"])))
        return None

    async def _changed(self, heard: ShardEvent, us: DiscordBot) -> Inbound | None:
        data = heard.data
        with MayFail(_log.warning, _PASSED_OVER, NOT_UNDERSTOOD):
            if heard.name == "MESSAGE_DELETE":
                number = str(data["id"])
                return deletion_of(number, us, self._recent.messages.get(number), self._clock.now())
            if heard.name == "MESSAGE_UPDATE":
                number = str(data["id"])
                place = await self._place(data, number) if data.get("edited_timestamp") else MessagePlace()
                return edit_of(data, us, place, self._recent.messages.get(number))
            return await self._marked(heard, us)
        return None

    async def _marked(self, heard: ShardEvent, us: DiscordBot) -> Inbound | None:
        marked = marked_of(heard.name, heard.data, us)
        if marked is None:
            return None
        marked = replace(marked, name=marked.name or self._recent.name(f"discord:{marked.person}"))
        place = await self._place(heard.data, marked.message_id)
        known = self._recent.messages.get(marked.message_id)
        event_id = f"{us.id}:{heard.id}"
        item = reaction_of(marked, heard.data, place, known, event_id=event_id, now=self._clock.now())
        return replace(item, message_id=self._ours.known_as(marked.message_id))

    async def _place(self, event: _Message, message_id: str) -> MessagePlace:
        if "guild_id" not in event:
            return MessagePlace()
        channel_id = snowflake(event["channel_id"])
        place = self.listener.place(event, message_id)
        if place is None:
            channel: dict[str, Any] = {}
            with MayFail(_log.warning, "A channel is not known", channel=channel_id):
                channel = await self._asked(lambda: self._ours.api.channel(channel_id))
            place = MessagePlace(parent=parent_of(channel), ours="member" in channel)
        ours = place.ours or self._ours.threads.ours(channel_id)
        return replace(place, ours=ours, opens=place.opens and self._ours.opens_threads)

    async def _asked(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        return await PlatformPatience(self._clock, NO_ANSWER).until_answered(call, but=_NO_USE, thrice=UnreadableAnswer)

    def _heard(self, heard: ShardEvent) -> None:
        if heard.name == "INTERACTION_CREATE" and self._tasks is not None:
            self._ours.menu.heard(heard.data, self._tasks)


async def _nothing() -> None:
    """Nothing to acknowledge: missed events of this kind cannot be read later."""


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
    earlier: list[Inbound] = []
    for message in kept:
        with MayFail(_log.info, "A message of Discord's history is not understood", NOT_UNDERSTOOD):
            earlier += filter(None, [earlier_of(message, to, space)])
    return earlier


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
