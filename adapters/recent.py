"""A bounded memory of the most recent items, and of our marks on people's messages: one at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, Generic, TypeAlias, TypeVar

from runtime.core.errors import MessageGone, NotDelivered
from runtime.core.message import Mark

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class RecentValues(Generic[_Key, _Value]):
    """Values by key; beyond `most`, the least recently kept or requested one is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[_Key, _Value] = OrderedDict()

    def __contains__(self, key: _Key) -> bool:
        return key in self._values

    def get(self, key: _Key) -> _Value | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: _Key, value: _Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, key: _Key) -> None:
        self._values.pop(key, None)

    def values(self) -> Iterable[_Value]:
        """All values, in the order in which they will be forgotten."""
        return self._values.values()

    def clear(self) -> None:
        self._values.clear()


React: TypeAlias = Callable[[str], Awaitable[None]]
"""Puts an emoji on a message, or takes it away."""
MAX_MARKED: Final = 10_000


class SingleMarks:
    """By message. The current mark of each is remembered while the process lives; `emojis` are the platform's."""

    def __init__(self, emojis: Mapping[Mark, str]) -> None:
        self._emojis = emojis
        self._there = RecentValues[str, Mark](MAX_MARKED)

    async def put(self, message: str, mark: Mark | None, react: React, away: React) -> None:
        """Put a mark in place of the current one, or of any where that is unknown. Raises as `react`."""
        known = self._there.get(message)
        for old in [known] if known is not None else self._emojis if mark is None else ():
            if old != mark:
                with suppress(NotDelivered, MessageGone):  # it is not there, or nothing is there any more
                    await away(self._emojis[old])
        self._there.forget(message)
        if mark is not None:
            await react(self._emojis[mark])
            self._there.keep(message, mark)
