"""What this node has of each bot: its connection, which one node holds at a time; a share of what the platform allows
the bot in total, as nodes come and go; and the scheduler of its calls, with the state that outlives the process.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from adapters.adapter import Adapter, HearsShare
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.lanes import FloodMemory
from adapters.records import Records
from gateway.cluster.renewal import LeaseRenewal, Outcome
from gateway.cluster.roster import ClusterRoster
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.stores.sessions import LeaseHolder, LeaseStore, ShareStore

DRAIN_LIMIT_S = 3.0
"""The time that a stop waits for platforms' answers. Chosen: stopped processes are killed after about ten seconds."""

_RELEASE_LIMIT_S = 3.0

_OnShare = Callable[[float], None]

_LEAVE_LIMIT_S = 1.0


class BotLeases:
    """Holds the leases. One that cannot be renewed is given up before another node can take it."""

    def __init__(self, leases: LeaseStore, roster: ClusterRoster, renewal: LeaseRenewal) -> None:
        self._leases = leases
        self._renewal = renewal
        self._roster = roster
        self._holder = roster.holder
        self._clock = roster.clock

    @asynccontextmanager
    async def hold(self, platform: str) -> AsyncIterator[None]:
        """Wait until this node may hold the bot's connection; the body is cancelled when it no longer may.

        After a loss the block ends without an error, so a caller that wants it again enters it again.
        """
        name = f"bot:{platform}"
        token, until = await self._acquired(name)
        try:
            async with beside() as tasks:
                self._renewal.keep(name, token, until, partial(_end_if_lost, tasks.cancel_scope))
                tasks.start_soon(self._give_up_in_time, name, tasks.cancel_scope)
                tasks.start_soon(self._give_up_when_drained, tasks.cancel_scope)
                yield
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._renewal.drop(name)
                await self._leases.release(name, self._holder, token)
            await self._roster.tell_now()

    async def _acquired(self, name: str) -> tuple[int, float]:
        """The token of a lease, and the time until which it is certainly ours."""
        while True:
            seen, until = self._roster.stirs, self._renewal.surely_until()
            token = None if self._roster.drained else await self._leases.acquire(name, self._holder)
            if token is not None:
                self._roster.announce()
                return token, until
            await self._roster.stirred(seen, self._holder.ttl_s / 3)

    async def _give_up_when_drained(self, body: anyio.CancelScope) -> None:
        seen = self._roster.stirs
        while not self._roster.drained:
            await self._roster.stirred(seen, self._holder.ttl_s / 3)
            seen = self._roster.stirs
        body.cancel()

    async def _give_up_in_time(self, name: str, body: anyio.CancelScope) -> None:
        while self._clock.monotonic() < (until := self._renewal.sure_until(name)):
            await self._clock.sleep_until(until)
        body.cancel()


def _end_if_lost(body: anyio.CancelScope, outcome: Outcome) -> None:
    if outcome == "lost":
        body.cancel()


class ShardShares(Struct, eq=False):
    """Claims our share every ttl/3 s and on news from `roster`, and reports it. A share that could not be renewed in
    time is given up.
    """

    _store: ShareStore
    _holder: LeaseHolder
    _clock: Clock
    _roster: ClusterRoster
    weight: float = 1.0
    """How much this process shows, compared with a node that serves conversations."""
    _share: float = 0.0
    _ours_until: float = -math.inf
    _listeners: list[_OnShare] = field(default_factory=list)

    def tell(self, on_share: _OnShare) -> None:
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
                seen = self._roster.stirs
                while True:
                    await self._roster.stirred(seen, self._holder.ttl_s / 3)
                    seen = self._roster.stirs
                    await self._claim_again()
        finally:
            with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                await self._store.leave(self._holder)
            await self._roster.tell_now()

    async def _claim_again(self) -> None:
        before = self._share
        await self._claim()
        if self._share < before:  # say that we use less, and that there is room now
            await self._claim()
            self._roster.tell()

    async def _claim(self) -> None:
        asked_at = self._clock.monotonic()
        share = await self._store.claim(self._holder, self._share, weight=self.weight)
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


class PlatformSchedulers(Struct, frozen=True):
    """Creates the schedulers.

    They run in `tasks`, with our share of the limits and with the state that outlives a process (table
    `rates:<platform>`). A conversation, given by its key, is shown something only while `may_show` allows it.
    """

    records: Callable[[str], Records]
    shares: ShardShares
    clock: Clock
    tasks: TaskGroup
    may_show: Callable[[str], bool] = lambda _conversation: True
    _open: list[EditScheduler] = field(default_factory=list)

    async def open(self, adapter: Adapter) -> EditScheduler:
        """The scheduler of a platform. Raises StorageUnavailable."""
        memory = FloodMemory(self.records(f"rates:{adapter.name}"), self.clock)
        await memory.open()
        self.tasks.start_soon(memory.run)
        total = adapter.capabilities.total_budget
        scheduler = EditScheduler(total, self.clock, self.tasks, memory=memory, may_show=self.may_show)
        self.shares.tell(scheduler.grant)
        if isinstance(adapter, HearsShare):
            self.shares.tell(adapter.granted)
        self._open.append(scheduler)
        return scheduler

    def resume(self) -> None:
        for scheduler in self._open:
            scheduler.resume()

    async def drain(self) -> None:
        """Make no more calls to platforms. Returns when every call on its way has been answered, or after a
        time limit.
        """
        with anyio.move_on_after(DRAIN_LIMIT_S):
            async with anyio.create_task_group() as tasks:
                for scheduler in self._open:
                    tasks.start_soon(scheduler.drain)
