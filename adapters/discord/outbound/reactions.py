"""Our marks on people's messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from adapters.discord.api.bot import DiscordApi
from adapters.recent import Recent
from runtime.core.errors import MessageGone, NotDelivered
from runtime.core.message import Mark

EMOJIS: Final[Mapping[Mark, str]] = {"seen": "👀", "queued": "⏳", "stopped": "🛑", "failed": "⚠️"}
MAX_MARKED: Final = 5000


class Marking:
    """One mark on a message at a time. The current one is remembered while the process lives."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api
        self._there = Recent[str, str](MAX_MARKED)

    async def put(self, channel_id: str, message: str, mark: Mark | None) -> None:
        """Put a mark in place of the current one, or remove it. Raises as `CanReact.react`."""
        wanted = EMOJIS[mark] if mark is not None else None
        for emoji in self._others(message, wanted):
            with suppress(NotDelivered, MessageGone):  # it is not there, or nothing is there any more
                await self._api.react(channel_id, message, emoji, there=False)
        self._there.forget(message)
        if wanted is not None:
            await self._api.react(channel_id, message, wanted, there=True)
            self._there.keep(message, wanted)

    def _others(self, message: str, wanted: str | None) -> list[str]:
        """The reactions to remove: the known one, or any of ours where none is known and none is wanted."""
        known = self._there.get(message)
        if known is not None:
            return [] if known == wanted else [known]
        return list(EMOJIS.values()) if wanted is None else []
