"""A bounded memory of the most recent items."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

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
