"""The feed of people's events, from the receiver of updates to their consumer, with a receipt."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from adapters.adapter import Inbound


@dataclass(eq=False, slots=True)
class _Given:
    item: Inbound
    done: anyio.Event = field(default_factory=anyio.Event)
    kept: bool = False


class UpdateFeed:
    """One consumer and any number of givers. An item waits with its giver, so nothing accumulates here."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[_Given | Exception](0)
        self._waiting: set[_Given] = set()
        self._over = False

    async def give(self, item: Inbound) -> bool:
        """Return True once the consumer asked for the next item: this one is durable. False when it went away."""
        given = _Given(item)
        if self._over:
            return False
        self._waiting.add(given)
        try:
            await self._send.send(given)
            await given.done.wait()
        except anyio.BrokenResourceError:
            return False
        finally:
            self._waiting.discard(given)
        return given.kept

    async def fail(self, error: Exception) -> None:
        """End the feed: the consumer gets the error in place of an item."""
        with suppress(anyio.BrokenResourceError):  # it went away by itself
            await self._send.send(error)

    async def items(self) -> AsyncGenerator[Inbound, None]:
        """The consumer's end, to be iterated once and closed."""
        try:
            async for given in self._receive:
                if isinstance(given, Exception):
                    raise given
                yield given.item
                given.kept = True
                given.done.set()
        finally:
            self._over = True
            self._receive.close()
            for given in self._waiting:
                given.done.set()

    def close(self) -> None:
        """Close both ends."""
        self._send.close()
        self._receive.close()
