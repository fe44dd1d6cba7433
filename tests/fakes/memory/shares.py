"""Each node's part of every shared limit, in memory: for tests and experiments."""

from runtime.core.clock import Clock, SystemClock
from runtime.stores.sessions import LeaseHolder


class MemoryShareStore:
    """Implements `runtime.stores.sessions.ShareStore`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._counted: dict[str, tuple[float, float, float]] = {}

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        now = self._clock.monotonic()
        self._counted = {node: one for node, one in self._counted.items() if one[1] > now}
        others = [(part, theirs) for node, (part, _, theirs) in self._counted.items() if node != holder.node]
        all_weights = weight + sum(theirs for _, theirs in others)
        may = max(0.0, min(weight / all_weights, 1 - sum(part for part, _ in others)))
        self._counted[holder.node] = (max(may, in_use), now + holder.ttl_s, weight)
        return may

    async def leave(self, holder: LeaseHolder, /) -> None:
        self._counted.pop(holder.node, None)
