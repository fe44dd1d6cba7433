"""Signals between tasks, and to functions that subscribed. A signal creates nothing before somebody waits: an event of
asyncio takes almost a kilobyte, and most are never waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class WakeSignal:
    """Wakes all who wait; nobody hears it who waits later."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def send(self) -> None:
        woken, self._waiting = self._waiting, ()
        for future in woken:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Return at the next `send`."""
        future = asyncio.get_running_loop().create_future()
        self._waiting += (future,)
        try:
            await future
        finally:
            if future.cancelled():  # who was woken waits no longer
                self._waiting = tuple(other for other in self._waiting if other is not future)


class ListenerList(Generic[T]):
    """The functions to call with each value, in the order in which they subscribed."""

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: tuple[Callable[[T], object], ...] = ()

    def subscribe(self, *functions: Callable[[T], object]) -> None:
        self._functions += functions

    def tell(self, value: T) -> None:
        for function in self._functions:
            function(value)
