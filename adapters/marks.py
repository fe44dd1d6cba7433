"""Our marks on people's messages, where a message takes any number of them: one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from adapters.recent import RecentValues
from runtime.core.errors import MessageGone, NotDelivered
from runtime.core.message import Mark

React: TypeAlias = Callable[[str], Awaitable[None]]
"""Puts an emoji on a message, or takes it away."""
MAX_MARKED: Final = 10_000


class SingleMarks:
    """By message. The current mark of each is remembered while the process lives; `emojis` are the platform's."""

    def __init__(self, emojis: Mapping[Mark, str]) -> None:
        self._emojis = emojis
        self._there = RecentValues[str, Mark](MAX_MARKED)

    async def put(self, message: str, mark: Mark | None, react: React, away: React) -> None:
        """Put a mark in place of the current one, or of any of ours where that is unknown and none is wanted. Raises as
        `react`.
        """
        known = self._there.get(message)
        for old in [known] if known is not None else self._emojis if mark is None else ():
            if old != mark:
                with suppress(NotDelivered, MessageGone):  # it is not there, or nothing is there any more
                    await away(self._emojis[old])
        self._there.forget(message)
        if mark is not None:
            await react(self._emojis[mark])
            self._there.keep(message, mark)
