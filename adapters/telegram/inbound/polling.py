"""Polling one bot's server for updates, and albums: each file of one comes by itself, and all are one message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup

from adapters.retrying import PlatformPatience
from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.api.failures import PollTaken
from adapters.telegram.codec.addresses import Json
from adapters.telegram.codec.attachments import MAX_ALBUM, AlbumId, albums, growing_album
from runtime.core.clock import Clock

SHORTEST_POLL_S: Final = 0.3
"""The shortest duration of a poll without updates."""
ALBUM_S: Final = 0.6
"""The time that the next file of an album may take."""
Take = Callable[[Sequence[Json]], Awaitable[bool]]
"""Takes an update, or an album's updates, and returns True once their content is stored."""


@dataclass(eq=False, slots=True)
class _Album:
    bot_id: int | None
    id: AlbumId
    updates: dict[int, Json]
    grows: bool = True
    taken: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)


class Albums:
    """The albums of one connection that are not stored yet. What follows an album in its chat waits for it."""

    def __init__(self, clock: Clock, tasks: TaskGroup) -> None:
        self._clock = clock
        self._tasks = tasks
        self._under_way: list[_Album] = []

    async def take(self, bot_id: int | None, id_: AlbumId, update: Json, take: Take) -> bool:
        """Return True once the whole album is stored with this update in it."""
        number, album = int(update["update_id"]), self._growing(bot_id, id_)
        if album is None:
            album = _Album(bot_id, id_, {number: update})
            self._under_way.append(album)
            self._tasks.start_soon(self._gather, album, take)
        else:
            album.updates[number] = update
        await album.done.wait()
        return album.taken

    async def settled(self, bot_id: int | None, chat_id: int) -> None:
        """Return when the albums that one bot has received in a chat so far are stored, or not to be stored."""
        for album in [one for one in self._under_way if (one.bot_id, one.id[0]) == (bot_id, chat_id)]:
            await album.done.wait()

    def _growing(self, bot_id: int | None, id_: AlbumId) -> _Album | None:
        found = (one for one in self._under_way if one.grows and (one.bot_id, one.id) == (bot_id, id_))
        return next(found, None)

    async def _gather(self, album: _Album, take: Take) -> None:
        try:
            known = 0
            while known < len(album.updates) < MAX_ALBUM:
                known = len(album.updates)
                await self._clock.sleep_until(self._clock.monotonic() + ALBUM_S)
            album.grows = False
            album.taken = await take([update for _, update in sorted(album.updates.items())])
        finally:
            self._under_way.remove(album)
            album.done.set()


async def poll(api: TelegramApi, clock: Clock, take: Take) -> None:
    """Take updates in order until one is not taken. Raises AuthFailed when the token is refused.

    An offset acknowledges all updates before it and is sent only once each was taken. A poll may end between two
    files of an album: the rest of it is waited for once.
    """
    offset: int | None = None
    awaited: int | None = None
    while True:
        known, asked_at = offset, clock.monotonic()
        bundles = albums(await patience(clock).until_answered(partial(api.updates, known)))
        album = growing_album(bundles)
        grows = album is not None and album != awaited
        for bundle in bundles[:-1] if grows else bundles:
            if not await take(bundle):
                return
            offset = max(offset or 0, int(bundle[-1]["update_id"]) + 1)
        if grows:  # it is not acknowledged, so it is told again with the rest
            offset = awaited = album
            await clock.sleep_until(clock.monotonic() + ALBUM_S)
            continue
        if offset == known:  # a server that does not hold polls is not asked without pause
            await clock.sleep_until(asked_at + SHORTEST_POLL_S)


def patience(clock: Clock) -> PlatformPatience:
    """The pauses until Telegram answers."""
    return PlatformPatience(clock, "Telegram cannot be asked", first_s=0.5, longest_s=10.0, urgent=PollTaken)
