"""Each node's part of every shared limit, in memory: for tests and experiments."""

from __future__ import annotations

from runtime.core.clock import Clock, SystemClock
from runtime.stores.sessions import LeaseHolder


class MemoryShareStore:
    """Implements `runtime.stores.shares.ShareStore`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._counted: dict[str, tuple[float, float]] = {}

    async def claim(self, holder: LeaseHolder, in_use: float, /) -> float:
        now = self._clock.monotonic()
        self._counted = {node: one for node, one in self._counted.items() if one[1] > now}
        others = [part for node, (part, _) in self._counted.items() if node != holder.node]
        may = max(0.0, min(1 / (len(others) + 1), 1 - sum(others)))
        self._counted[holder.node] = (max(may, in_use), now + holder.ttl_s)
        return may

    async def leave(self, holder: LeaseHolder, /) -> None:
        self._counted.pop(holder.node, None)
