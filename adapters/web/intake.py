"""People's events on their way to the consumer: bounded, and acknowledged only when the consumer has stored them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice

import anyio

from adapters.adapter import Inbound

MAX_WAITING = 1_000
"""The number of messages that may wait; further ones are refused."""

MAX_TOGETHER = 64
"""The number of messages that are taken together. Chosen: more than the rooms in which people write at one moment."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A message, and the function to call when the consumer has stored it."""

    inbound: Inbound
    taken: Callable[[], None]


class WebIntake:
    """A queue for one consumer. An item leaves it when the consumer asks for the next one, not before."""

    def __init__(self) -> None:
        self._offers: deque[Offer] = deque()
        self._news = anyio.Event()

    @property
    def full(self) -> bool:
        return len(self._offers) >= MAX_WAITING

    def put(self, offer: Offer) -> None:
        """Add a message. Ask `full` first; this always succeeds, because the writer has already been promised it."""
        self._offers.append(offer)
        self._news.set()

    async def items(self) -> AsyncGenerator[Inbound]:
        """The waiting items, oldest first, without end. A consumer that leaves in between leaves its item to the next
        one.
        """
        async with aclosing(self.together(1)) as several:
            async for (item,) in several:
                yield item

    async def together(self, at_most: int = MAX_TOGETHER) -> AsyncGenerator[Sequence[Inbound]]:
        """As `items`, but several at a time."""
        while True:
            while not self._offers:
                self._news = anyio.Event()
                await self._news.wait()
            several = [offer.inbound for offer in islice(self._offers, at_most)]
            yield several
            for _ in several:
                self._offers.popleft().taken()
