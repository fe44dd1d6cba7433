"""Threads: those of people's messages, opened only when something is about to be said in them, and new ones."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from adapters.adapter import Inbound
from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.calls import AlreadyDone, PlaceGone
from adapters.discord.codec.addresses import PLATFORM, address_of, channel_id_of, is_private, link_to, nonce_of, page_of
from adapters.discord.codec.payload import DiscordPost
from adapters.recent import RecentValues
from adapters.retrying import MayFail
from runtime.core.address import GATEWAY, Address
from runtime.core.errors import AdapterError, MessageGone, NotDelivered

MAX_EXPECTED: Final = 1000
MAX_JOINED: Final = 10_000
"""Threads that are known to be ours without looking; the others are known by our membership."""
NAME_CHARS: Final = 60

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

_POSTS_ONLY: Final = frozenset({15, 16})
"""Channel types that have nothing but posts: forums and media channels (Discord's documentation, Channel Types)."""


class DiscordThreads:
    """A thread that begins with a message has that message's id: it can be addressed before it is there.

    So nothing is opened for those who are not answered, and a repeated event opens nothing twice.
    """

    def __init__(self, api: DiscordApi, unnamed: str) -> None:
        """`unnamed` is the name of a thread that has no words to name it."""
        self._api = api
        self._unnamed = unnamed
        self._expected = RecentValues[str, tuple[str, str]](MAX_EXPECTED)
        self._joined = RecentValues[str, bool](MAX_JOINED)

    def expect(self, item: Inbound) -> None:
        """A conversation may begin in a thread of this message."""
        thread = item.address.thread
        if thread is not None and thread == item.message_id:
            name = " ".join(item.text.split())[:NAME_CHARS] or self._unnamed
            self._expected.keep(thread, (name, item.person_id.removeprefix(f"{PLATFORM}:")))

    def ours(self, thread: str) -> bool:
        """Whether this process opened it, spoke in it, or may open it."""
        return self._joined.get(thread) is not None or thread in self._expected

    async def within(self, to: Address, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Make a call that says something at an address, opening its thread first if needed. Raises as `call`."""
        if to.thread is None:
            return await call()
        if to.thread in self._expected:
            await self._open(to.conversation, to.thread)
        try:
            return await call()
        except PlaceGone as gone:
            try:
                await self._open(to.conversation, to.thread)
            except MessageGone:
                raise gone from None
            return await call()

    async def join(self, to: Address) -> None:
        """Join a thread: webhooks' posts do not make the bot a member, by which we know it after a restart."""
        if to.thread is not None and to.thread not in self._joined:
            self._joined.keep(to.thread, True)
            with suppress(AdapterError):  # what was said stands; until a restart we know the thread without it
                await self._api.join(to.thread)

    async def _open(self, channel: str, message: str) -> None:
        name, person = self._expected.get(message) or (self._unnamed, "")
        with suppress(AlreadyDone):
            await self._api.open_thread(channel, name, message=message)
        self._expected.forget(message)
        self._joined.keep(message, True)
        if person:
            with MayFail(_log.info, "Somebody is not in the thread of their own message"):
                await self._api.join(message, person)

    async def begin(self, to: Address, title: str, nonce: str) -> Address | None:
        """As `CanOpenThread.open_thread`. Private conversations have no threads.

        In a channel a thread begins with a message of ours: that has a nonce, and no message has two threads, so
        opening it again gets the same one for as long as Discord knows the nonce, a few minutes. Posts of forums know
        none.
        """
        if is_private(to):
            return None
        channel = to.conversation
        post = DiscordPost(page_of(title, GATEWAY, named=False), nonce=nonce_of(nonce))
        with MayFail(_log.info, "Discord opens no thread here", (NotDelivered,)):
            kind: Any = (await self._api.channel(channel)).get("type")
            opened = self._api.open_post if kind in _POSTS_ONLY else self._from_message
            thread = await opened(channel, title, post)
            self._joined.keep(thread, True)
            return address_of(thread, private=False, parent=channel)
        return None

    async def _from_message(self, channel: str, title: str, post: DiscordPost) -> str:
        message = str((await self._api.send(channel, post))["id"])
        try:
            with suppress(AlreadyDone):
                return await self._api.open_thread(channel, title, message=message)
        except NotDelivered:
            with suppress(AdapterError):  # then a title stands in the channel, and no thread under it
                await self._api.delete(channel, message)
            raise
        return message

    async def link(self, to: Address) -> str | None:
        place = channel_id_of(to)
        if is_private(to):
            return link_to("@me", place)
        server = (await self._api.channel(place)).get("guild_id")
        return None if server is None else link_to(str(server), place)
