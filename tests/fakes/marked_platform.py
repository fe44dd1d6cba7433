"""A rich platform on which messages of people can be marked, unless a conversation does not want that."""

from __future__ import annotations

from dataclasses import replace

from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import NotDelivered
from runtime.core.message import Mark
from tests.fakes.rich_platform import RichPlatform, rich_capabilities


class MarkedPlatform(RichPlatform):
    """`marks` is what stands on each message; conversations in `markless` take no marks."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, replace(rich_capabilities(), reactions=True))
        self.marks: dict[str, Mark | None] = {}
        self.markless: set[str] = set()

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        unclear = self._meet("react")
        await self._apply(to)
        if to.conversation in self.markless:
            raise NotDelivered("reactions are not allowed here")
        self.marks[message] = mark
        self._lose(unclear)
