"""This process among its like: which shards it serves, and which bots' connections it holds.

every ttl/3 s:  try for what is free ──> on_shard_gained(lease)      one reader for all shards held:
                renew what is held   ──> on_shard_lost(shard)        inbox ──> on_entry(entry, lease)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from runtime.core.clock import Clock
from runtime.sessions.inbox import Inbox, InboxEntry
from runtime.sessions.store import SHARDS, Lease, LeaseHolder, LeaseStore

OnEntry = Callable[[InboxEntry, Lease], Awaitable[None] | None]
OnShardGained = Callable[[Lease], Awaitable[None]]
OnShardLost = Callable[[int], Awaitable[None] | None]

_READ_S = 30.0
_RELEASE_LIMIT_S = 1.0


class Node:
    """Holds leases and hands over what comes in under them.

    What it hands over, it hands over in the inbox's order and once under each lease; the entry stays in the inbox
    until a commit takes it out. A lease that is lost without our knowing does no harm: its token is void.
    """

    def __init__(self, leases: LeaseStore, inbox: Inbox, holder: LeaseHolder, clock: Clock) -> None:
        self._leases = leases
        self._inbox = inbox
        self._holder = holder
        self._clock = clock
        self._held: dict[int, Lease] = {}
        self._cursors: dict[int, str] = {}
        self._changed = anyio.Event()
        self._reading = anyio.CancelScope()

    @property
    def shards(self) -> frozenset[int]:
        """The shards held now."""
        return frozenset(self._held)

    async def run(
        self, task_group: TaskGroup, on_entry: OnEntry, on_shard_gained: OnShardGained, on_shard_lost: OnShardLost
    ) -> None:
        """Take every shard that is free, then serve them in `task_group` until that is cancelled.

        Returns after the first try for every shard. `on_shard_gained` ends before the first entry under its lease;
        `on_entry` is awaited before the next entry. What they raise, and StorageUnavailable, ends the task group.
        """
        await self._gain_free(on_shard_gained)
        task_group.start_soon(self._keep_held, on_shard_lost)
        task_group.start_soon(self._keep_trying, on_shard_gained)
        task_group.start_soon(self._hand_over, on_entry)

    @asynccontextmanager
    async def bot_lease(self, platform: str) -> AsyncIterator[None]:
        """Wait until this node may hold the bot's connection; the body is cancelled when it no longer may.

        After a loss the block ends without an error, so a caller that wants it again enters it again.
        """
        name = f"bot:{platform}"
        while (token := await self._leases.acquire(name, self._holder)) is None:
            await self._pause()
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_bot, name, token, tasks.cancel_scope)
                try:
                    yield
                except Exception as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
                    failure = error
                tasks.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._leases.release(name, self._holder, token)
        if failure is not None:
            raise failure

    async def _keep_bot(self, name: str, token: int, body: anyio.CancelScope) -> None:
        await self._pause()
        while await self._leases.renew(name, self._holder, token):
            await self._pause()
        body.cancel()

    async def _keep_held(self, on_shard_lost: OnShardLost) -> None:
        try:
            while True:
                await self._pause()
                async with anyio.create_task_group() as tasks:
                    for lease in list(self._held.values()):
                        tasks.start_soon(self._renew, lease, on_shard_lost)
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._release_held()

    async def _keep_trying(self, on_shard_gained: OnShardGained) -> None:
        while True:
            await self._pause()
            await self._gain_free(on_shard_gained)

    async def _gain_free(self, on_shard_gained: OnShardGained) -> None:
        async with anyio.create_task_group() as tasks:
            for shard in range(SHARDS):
                if shard not in self._held:
                    tasks.start_soon(self._try_for, shard, on_shard_gained)

    async def _try_for(self, shard: int, on_shard_gained: OnShardGained) -> None:
        token = await self._leases.acquire(f"shard:{shard}", self._holder)
        if token is None:
            return
        lease = Lease(shard, token)
        self._held[shard] = lease
        await on_shard_gained(lease)
        if self._held.get(shard) == lease:
            self._cursors[shard] = "0"
            self._tell_reader()

    async def _renew(self, lease: Lease, on_shard_lost: OnShardLost) -> None:
        if await self._leases.renew(f"shard:{lease.shard}", self._holder, lease.token):
            return
        del self._held[lease.shard]
        self._cursors.pop(lease.shard, None)
        self._tell_reader()
        pending = on_shard_lost(lease.shard)
        if pending is not None:
            await pending

    async def _release_held(self) -> None:
        async with anyio.create_task_group() as tasks:
            for lease in self._held.values():
                tasks.start_soon(self._leases.release, f"shard:{lease.shard}", self._holder, lease.token)
        self._held.clear()
        self._cursors.clear()

    async def _hand_over(self, on_entry: OnEntry) -> None:
        while True:
            if not self._cursors:
                await self._changed.wait()
            leases = dict(self._held)
            entries: list[InboxEntry] = []
            with anyio.CancelScope() as self._reading:
                entries = list(await self._inbox.read(dict(self._cursors), wait_s=_READ_S))
            for entry in entries:
                if self._held.get(entry.shard) != leases[entry.shard]:
                    continue
                self._cursors[entry.shard] = entry.entry_id
                pending = on_entry(entry, leases[entry.shard])
                if pending is not None:
                    await pending

    def _tell_reader(self) -> None:
        """Let the reader begin again with the shards that are held now."""
        self._reading.cancel()
        self._changed.set()
        self._changed = anyio.Event()

    async def _pause(self) -> None:
        await self._clock.sleep_until(self._clock.monotonic() + self._holder.ttl_s / 3)
