"""Polling one bot's server for updates, without end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.api.failures import PollTaken
from adapters.telegram.codec.attachments import albums, growing_album
from adapters.telegram.inbound.albums import ALBUM_S, Take
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, RateLimited

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
SHORTEST_POLL_S: Final = 0.3
"""The shortest duration of a poll without updates."""

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


async def poll(api: TelegramApi, clock: Clock, take: Take) -> None:
    """Take updates in order until one is not taken. Raises AuthFailed when the token is refused.

    An offset acknowledges all updates before it and is sent only once each was taken. A poll may end between two
    files of an album: the rest of it is waited for once.
    """
    offset: int | None = None
    awaited: int | None = None
    while True:
        known, asked_at = offset, clock.monotonic()
        bundles = albums(await until_answered(clock, partial(api.updates, known)))
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


async def until_answered(clock: Clock, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Repeat the call with growing pauses until Telegram answers. Raises AuthFailed only."""
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await call()
        except AuthFailed:
            raise
        except AdapterError as error:
            wait_s = max(pause_s, error.retry_after_s) if isinstance(error, RateLimited) else pause_s
            level = logging.ERROR if isinstance(error, PollTaken) else logging.WARNING
            _log.log(level, "Telegram cannot be asked", extra={"error": str(error), "retry_in_s": wait_s})
        await clock.sleep_until(clock.monotonic() + wait_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
