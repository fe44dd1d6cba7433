"""Signals between tasks. Nothing is created before somebody waits: an event of asyncio takes almost a kilobyte, and
most are never waited for.
"""

from __future__ import annotations

import asyncio

import anyio.lowlevel


class Signal:
    """Wakes all who wait; nobody hears it who waits later."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def send(self) -> None:
        """Wake all who wait."""
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
            self._waiting = tuple(other for other in self._waiting if other is not future)


class Wakeup:
    """Wakes the one task that waits for it, even if it starts to wait later."""

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        self._waiting: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Wake who waits, or is going to."""
        self._set = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self) -> None:
        """Return when it is set, and unset it."""
        if self._set:
            await anyio.lowlevel.checkpoint()
        else:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        self._set = False
