"""People's events on their way to the consumer. Bounded, and acknowledged only when the consumer has them safe."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import anyio

from adapters.adapter import Inbound

MAX_WAITING = 1_000
"""More waiting messages than this are refused."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A message and what to call when the consumer has it safe."""

    inbound: Inbound
    taken: Callable[[], None]


class Intake:
    """A queue for one consumer. An item leaves it when the consumer asks for the next one, not before."""

    def __init__(self) -> None:
        self._offers: deque[Offer] = deque()
        self._news = anyio.Event()

    @property
    def full(self) -> bool:
        return len(self._offers) >= MAX_WAITING

    def put(self, offer: Offer) -> None:
        """Ask `full` first; this takes it in any case, because its writer has already been promised."""
        self._offers.append(offer)
        self._news.set()

    async def items(self) -> AsyncGenerator[Inbound]:
        """The waiting items, oldest first, without end. A consumer that goes away in between leaves its item to the
        next one.
        """
        while True:
            while not self._offers:
                self._news = anyio.Event()
                await self._news.wait()
            yield self._offers[0].inbound
            self._offers.popleft().taken()
