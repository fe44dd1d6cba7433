"""Times that are kept with this node's shards: each rings when it has come.

a shard is gained ──> watch ──> sleeps until the first of all ──> what is due in a shard rings, some at a time
a time is set ──────> note ─────────┘
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import anyio

from runtime.core.clock import LOOK_S, Clock

AT_ONCE = 100
"""The number of one shard's times that ring before other shards have their turn."""

TOGETHER = 4
"""The number of times that ring side by side, so that their calls to the store overlap."""

RETRY_S = 1.0
"""The pause before another try where something could not ring."""

Due = TypeVar("Due")
Kept = TypeVar("Kept", covariant=True)


class Times(Protocol[Kept]):
    """The store of the times of shards."""

    async def first(self, shard: int, /) -> float | None:
        """The shard's first time, in seconds since the epoch; None when it has none."""
        ...

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[Kept]:
        """What is due by then, the earliest first."""
        ...


class Bells(Generic[Due]):
    """Rings what is due in the shards that this node holds. `run` must be running.

    `ring` takes what has rung out of `times`, and returns False where it has to be tried again.
    """

    def __init__(self, times: Times[Due], ring: Callable[[int, Due], Awaitable[bool]], clock: Clock) -> None:
        self._times = times
        self._ring_one = ring
        self._clock = clock
        self._watched: set[int] = set()
        self._first: dict[int, float] = {}
        self._sleeping = anyio.CancelScope()

    async def watch(self, shard: int) -> None:
        """The shard is ours now."""
        self._watched.add(shard)
        self.note(shard, await self._times.first(shard))

    def forget(self, shard: int) -> None:
        """Forget a shard that another node now holds."""
        self._watched.discard(shard)
        self._first.pop(shard, None)

    def note(self, shard: int, due_s: float | None) -> None:
        """A time of the shard was set."""
        if shard in self._watched and due_s is not None:
            self._first[shard] = min(due_s, self._first.get(shard, due_s))
            self._sleeping.cancel()

    async def run(self) -> None:
        """Ring what is due until cancelled. Shards whose server is away delay no others."""
        async with anyio.create_task_group() as tasks:
            while True:
                now_s = self._clock.now().timestamp()
                for shard in [shard for shard, due_s in self._first.items() if due_s <= now_s]:
                    del self._first[shard]
                    tasks.start_soon(self._ring, shard, now_s)
                wait_s = min(self._first.values(), default=now_s + LOOK_S) - self._clock.now().timestamp()
                # No longer, for the calendar may be set to another time meanwhile.
                with anyio.CancelScope() as self._sleeping:
                    await self._clock.sleep_until(self._clock.monotonic() + min(wait_s, LOOK_S))

    async def _ring(self, shard: int, now_s: float) -> None:
        refused: list[Due] = []
        due = iter(await self._times.due(shard, now_s, AT_ONCE))

        async def ring() -> None:
            refused.extend([one for one in due if not await self._ring_one(shard, one)])

        async with anyio.create_task_group() as tasks:
            for _ in range(TOGETHER):
                tasks.start_soon(ring)
        first_s = await self._times.first(shard)
        self.note(shard, now_s + RETRY_S if refused else first_s)
