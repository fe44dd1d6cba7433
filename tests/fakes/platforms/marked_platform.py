"""A platform on which messages of people can be marked, unless a conversation does not want that."""

from collections import deque

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered
from runtime.core.message import Mark
from tests.fakes.platforms.bucket_platform import BucketPlatform, make_capabilities

REACT_S = 0.2


class MarkedPlatform(BucketPlatform):
    """`marks` is what stands on each message; conversations in `markless` take no marks. Marks are not counted.

    `trouble` is raised by the next calls: instead of applying them, or afterwards where that is said.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, capabilities=replace(make_capabilities(), reactions=True))
        self.marks: dict[str, Mark | None] = {}
        self.markless: set[str] = set()
        self.trouble: deque[tuple[AdapterError, bool]] = deque()
        self.reacts = 0

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        self.reacts += 1
        error, applied = self.trouble.popleft() if self.trouble else (None, True)
        await self._clock.sleep_until(self._clock.monotonic() + REACT_S)
        if to.conversation in self.markless:
            raise NotDelivered("reactions are not allowed here")
        if applied:
            self.marks[message] = mark
        if error is not None:
            raise error
