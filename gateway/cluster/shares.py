"""This node's share of what a platform allows a bot in total, as nodes come and go."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from gateway.cluster.roster import Roster
from runtime.core.clock import Clock
from runtime.stores.sessions import LeaseHolder, ShareStore

OnShare = Callable[[float], None]

_LEAVE_LIMIT_S = 1.0


class Shares:
    """Claims our share every ttl/3 s and on news from `roster`, and reports it. A share that could not be renewed in
    time is given up.
    """

    def __init__(
        self,
        store: ShareStore,
        holder: LeaseHolder,
        clock: Clock,
        roster: Roster | None = None,
        *,
        weight: float = 1.0,
    ) -> None:
        """`weight` says how much this process shows, compared with a node that serves conversations."""
        self._weight = weight
        self._roster = roster
        self._store = store
        self._holder = holder
        self._clock = clock
        self._share = 0.0
        self._ours_until = clock.monotonic()
        self._listeners: list[OnShare] = []

    def tell(self, on_share: OnShare) -> None:
        """Call `on_share` with our share, now and on every change."""
        self._listeners.append(on_share)
        on_share(self._share)

    async def open(self) -> None:
        """Claim our share for the first time. Raises StorageUnavailable."""
        await self._claim()

    async def run(self) -> None:
        """Keep the share until cancelled. Raises StorageUnavailable."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._give_up_in_time)
                seen = 0 if self._roster is None else self._roster.stirs
                while True:
                    seen = await self._until_next(seen)
                    await self._claim_again()
        finally:
            with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                await self._store.leave(self._holder)
            if self._roster is not None:
                await self._roster.tell_now()

    async def _until_next(self, seen: int) -> int:
        if self._roster is None:
            await self._clock.sleep_until(self._clock.monotonic() + self._holder.ttl_s / 3)
            return seen
        await self._roster.stirred(seen, self._holder.ttl_s / 3)
        return self._roster.stirs

    async def _claim_again(self) -> None:
        before = self._share
        await self._claim()
        if self._share < before:  # say that we use less, and that there is room now
            await self._claim()
            if self._roster is not None:
                self._roster.tell()

    async def _claim(self) -> None:
        asked_at = self._clock.monotonic()
        share = await self._store.claim(self._holder, self._share, weight=self._weight)
        self._ours_until = asked_at + self._holder.ttl_s
        self._set(share if self._clock.monotonic() < self._ours_until else 0.0)

    async def _give_up_in_time(self) -> None:
        while True:
            now = self._clock.monotonic()
            if now >= self._ours_until:
                self._set(0.0)
            await self._clock.sleep_until(self._ours_until if now < self._ours_until else now + self._holder.ttl_s / 3)

    def _set(self, share: float) -> None:
        if share != self._share:
            self._share = share
            for on_share in self._listeners:
                on_share(share)
