"""The roster of nodes in memory: for tests and for trying things out."""

import anyio

from runtime.core.clock import Clock, SystemClock
from runtime.stores.sessions import LeaseHolder, LivingNodes


class MemoryNodeStore:
    """Implements `runtime.stores.sessions.NodeStore`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._until: dict[str, float] = {}
        self._left: dict[str, float] = {}
        self._count = 0
        self._changed = anyio.Event()

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        known = holder.node in (await self.living()).nodes
        self._until[holder.node] = self._clock.monotonic() + holder.ttl_s
        self._left.pop(holder.node, None)
        if not known:
            await self.tell()
        return await self.living()

    async def living(self) -> LivingNodes:
        now = self._clock.monotonic()
        self._until = {node: until for node, until in self._until.items() if until > now}
        self._left = {node: until for node, until in self._left.items() if until > now}
        lasts = {node: until - now for node, until in self._until.items()}
        return LivingNodes(lasts, str(self._count), frozenset(self._left))

    async def leave(self, holder: LeaseHolder, /) -> None:
        self._until.pop(holder.node, None)
        self._left[holder.node] = self._clock.monotonic() + holder.ttl_s
        await self.tell()

    async def tell(self) -> None:
        self._count += 1
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def news(self, after: str, /, *, wait_s: float) -> str:
        with anyio.move_on_after(wait_s):
            while str(self._count) == after:
                await self._changed.wait()
        return str(self._count)
