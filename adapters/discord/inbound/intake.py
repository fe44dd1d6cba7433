"""Discord's events as people's acts, completed from history where events are missing."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.calls import NO_ANSWER, UnreadableAnswer
from adapters.discord.codec.addresses import DiscordBot, mark_of, snowflake, snowflake_at
from adapters.discord.inbound.catch_up import DiscordCatchUp
from adapters.discord.inbound.decode import (
    MessagePlace,
    RecentMessages,
    deletion_of,
    edit_of,
    inbound_of,
    marked_of,
    parent_of,
    reaction_of,
)
from adapters.discord.inbound.listener import LOST, DiscordListener
from adapters.discord.inbound.menu import InteractionMenu
from adapters.discord.inbound.shard import ShardEvent, ShardSession
from adapters.discord.outbound.threads import DiscordThreads
from adapters.platform_clock import PlatformClock
from adapters.records import Records
from adapters.retrying import PlatformPatience
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered

_NO_USE: Final = (AuthFailed, NotDelivered, MessageGone)
"""The failures of a call that would fail again."""
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_Message: TypeAlias = Mapping[str, Any]
_Taken: TypeAlias = tuple[Inbound, Callable[[], Awaitable[None]]]
"""A person's act, and the work to do once it is stored."""


@dataclass(frozen=True, slots=True)
class BotParts:
    """The parts of one bot beside its connection. `known_as` gives our id of a message by Discord's. With
    `opens_threads`, a message to the bot in a channel is answered in a thread.
    """

    api: DiscordApi
    menu: InteractionMenu
    threads: DiscordThreads
    known_as: Callable[[str], str]
    opens_threads: bool


class DiscordIntake:
    """One connection's items."""

    def __init__(self, ours: BotParts, session: ShardSession, clock: PlatformClock, marks: Records) -> None:
        self._ours = ours
        self._clock = clock
        self._listener = DiscordListener(session, ours.api, clock, self._heard)
        self._catch_up = DiscordCatchUp(ours.api, marks, self._asked)
        self._recent = RecentMessages()
        self._tasks: TaskGroup | None = None

    async def run(self) -> None:
        """Listen and acknowledge commands, until cancelled."""
        async with anyio.create_task_group() as self._tasks:
            await self._listener.run()

    async def listens(self) -> None:
        """Return when Discord sends events or has refused us; in that case `items` raises the refusal."""
        await self._listener.settled.wait()

    async def items(self, us: DiscordBot) -> AsyncGenerator[Inbound, None]:
        """People's events. An item is marked as taken, or a command acknowledged, when the next one is asked for."""
        now = self._clock.now() - timedelta(seconds=1)  # ids of one millisecond are alike
        await self._catch_up.load(snowflake_at(now))
        while True:
            async for item, safe in self._taken(await self._listener.next(), us):
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
                    yield item, partial(_now, partial(self._ours.menu.safe, data))
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
            talked_in = self._listener.talked_in(guild)
            if guild is None:
                self._catch_up.begin({said.guild for said in talked_in})
                async for message in self._catch_up.private():
                    yield message
            async for message in self._catch_up.public(talked_in, guild):
                yield message

    async def _said(self, message: _Message, us: DiscordBot) -> Inbound | None:
        try:
            return inbound_of(message, us, await self._place(message, str(message["id"])))
        except NOT_UNDERSTOOD as error:
            _tell_passed_over(error)
            return None

    async def _changed(self, heard: ShardEvent, us: DiscordBot) -> Inbound | None:
        """An edit, a deletion or a reaction."""
        data = heard.data
        try:
            if heard.name == "MESSAGE_DELETE":
                number = str(data["id"])
                return deletion_of(number, us, self._recent.message(number), self._clock.now())
            if heard.name == "MESSAGE_UPDATE":
                number = str(data["id"])
                place = await self._place(data, number) if data.get("edited_timestamp") else MessagePlace()
                return edit_of(data, us, place, self._recent.message(number))
            return await self._marked(heard, us)
        except NOT_UNDERSTOOD as error:
            _tell_passed_over(error)
            return None

    async def _marked(self, heard: ShardEvent, us: DiscordBot) -> Inbound | None:
        marked = marked_of(heard.name, heard.data, us)
        if marked is None:
            return None
        marked = replace(marked, name=marked.name or self._recent.name(f"discord:{marked.person}"))
        place = await self._place(heard.data, marked.message_id)
        known = self._recent.message(marked.message_id)
        event_id = f"{us.id}:{heard.id}"
        item = reaction_of(marked, heard.data, place, known, event_id=event_id, now=self._clock.now())
        return replace(item, message_id=self._ours.known_as(marked.message_id))

    async def _place(self, event: _Message, message_id: str) -> MessagePlace:
        if "guild_id" not in event:
            return MessagePlace()
        channel_id = snowflake(event["channel_id"])
        place = self._listener.place(event, message_id)
        if place is None:
            try:
                channel = await self._asked(lambda: self._ours.api.channel(channel_id))
            except AdapterError as error:
                _log.warning("A channel is not known", extra={"channel": channel_id, "error": str(error)})
                channel = {}
            place = MessagePlace(parent=parent_of(channel), ours="member" in channel)
        ours = place.ours or self._ours.threads.ours(channel_id)
        return replace(place, ours=ours, opens=place.opens and self._ours.opens_threads)

    async def _asked(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        return await PlatformPatience(self._clock, NO_ANSWER).until_answered(call, but=_NO_USE, thrice=UnreadableAnswer)

    def _heard(self, heard: ShardEvent) -> None:
        if heard.name == "INTERACTION_CREATE" and self._tasks is not None:
            self._ours.menu.heard(heard.data, self._tasks)


async def _now(call: Callable[[], None]) -> None:
    call()


async def _nothing() -> None:
    """Nothing to acknowledge: missed events of this kind cannot be read later."""


def _tell_passed_over(error: Exception) -> None:
    _log.warning("An event of Discord's is not understood and is ignored", extra={"error": repr(error)})
