"""What is remembered of the most recent things, and no more of them than fit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Memory(Generic[_Value]):
    """Values by key; when there are more than `most`, the one is forgotten that was not used for the longest time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, _Value] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> _Value | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: str, value: _Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, key: str) -> None:
        self._values.pop(key, None)
