"""New threads beside conversations, and links to conversations."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, Final

from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.calls import AlreadyDone
from adapters.discord.codec.addresses import address_of, channel_id_of, is_private, link_to, nonce_of, page_of
from adapters.discord.codec.payload import Post
from adapters.discord.outbound.threads import DiscordThreads
from runtime.core.address import GATEWAY, Address
from runtime.core.errors import AdapterError, NotDelivered

_POSTS_ONLY: Final = frozenset({15, 16})
"""Channel types that have nothing but posts: forums and media channels (Discord's documentation, Channel Types)."""

_log = logging.getLogger(__name__)


class NewThreads:
    """Raises as `CanOpenThread`.

    In a channel a thread begins with a message of ours: that has a nonce, and no message has two threads, so opening it
    again gets the same one for as long as Discord knows the nonce, a few minutes. Posts of forums know none.
    """

    def __init__(self, api: DiscordApi, threads: DiscordThreads) -> None:
        self._api = api
        self._threads = threads

    async def open(self, to: Address, title: str, nonce: str) -> Address | None:
        """See `CanOpenThread.open_thread`. Private conversations have no threads."""
        if is_private(to):
            return None
        channel = to.conversation
        post = Post(page_of(title, GATEWAY, named=False), nonce=nonce_of(nonce))
        try:
            kind: Any = (await self._api.channel(channel)).get("type")
            if kind in _POSTS_ONLY:
                thread = await self._api.open_post(channel, title, post)
            else:
                thread = await self._from_message(channel, title, post)
        except NotDelivered as error:
            _log.info("Discord opens no thread here", extra={"error": str(error)})
            return None
        self._threads.opened(thread)
        return address_of(thread, private=False, parent=channel)

    async def _from_message(self, channel: str, title: str, post: Post) -> str:
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
