"""The node: takes and gives back shards so that every node serves an equal share. And the front, a process of the
cluster that serves no conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from gateway.cluster.renewal import LeaseRenewal, Outcome
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.background import WakeSignal
from runtime.events.service import NodeBalanced, NodeHandedOver, NodeIsolated, NodeReturned, NodeShardLost
from runtime.stores.inbox import Inbox, InboxEntry
from runtime.stores.sessions import SHARDS, Lease, LeaseStore, NodeStore

_READ_S = 30.0
_RELEASE_LIMIT_S = 3.0

_LEAVE_LIMIT_S = 3.0


class ShardServer(Protocol):
    """Serves the shards that a node holds. Its exceptions, and StorageUnavailable, end the node's task group."""

    async def gained(self, lease: Lease, /) -> None:
        """We now hold a shard. Returns before the first entry under this lease."""

    def dispatch(self, entry: InboxEntry, lease: Lease, /) -> Awaitable[None] | None:
        """An entry has arrived. The returned awaitable is awaited before the next entry."""

    def loads(self) -> Mapping[int, int]:
        """The amount of work in each shard; a missing shard has none. Shards with the least are given away first."""

    async def park(self, shard: int, within_s: float, /) -> None:
        """Let work in progress finish within this time. On return nothing of the shard runs, and everything is stored.

        Entries that arrive meanwhile need not be taken.
        """

    def lost(self, shard: int, /) -> None:
        """Release a shard at once, because another node now holds it."""


class ClusterNode:
    """Holds leases and hands over what comes in under them.

    What it hands over, it hands over in the inbox's order and once under each lease; the entry stays in the inbox
    until a commit takes it out. A lease that is lost without our knowing does no harm: its token is void. `park_s` is
    how long what goes on in a shard may keep it from a node that is to have it.
    """

    def __init__(
        self,
        leases: LeaseStore,
        inbox: Inbox,
        roster: ClusterRoster,
        renewal: LeaseRenewal,
        bus: Bus,
        *,
        park_s: float = 20.0,
    ) -> None:
        self._leases = leases
        self._renewal = renewal
        self._inbox = inbox
        self._roster = roster
        self._holder = roster.holder
        self._clock = roster.clock
        self._bus = bus
        self._park_s = park_s
        self._held: dict[int, Lease] = {}
        self._leaving: set[int] = set()
        self._draining = False
        self._cursors: dict[int, str] = {}
        self._changed = WakeSignal()
        self._reading = anyio.CancelScope()
        self._server: ShardServer
        self._renewed = WakeSignal()
        self._told: tuple[int, int] | None = None
        self.on_sure: Callable[[], None] = lambda: None
        """Called when a shard is certainly ours again after it was in doubt."""

    @property
    def shards(self) -> frozenset[int]:
        return frozenset(self._held)

    def may_show(self, shard: int) -> bool:
        """Whether a shard is certainly still ours by our own clock. Asked before its sessions show anything."""
        return self._clock.monotonic() < self._renewal.sure_until(_name(shard))

    async def run(self, task_group: TaskGroup, server: ShardServer) -> None:
        """Take our part of the shards, as far as it is free, then serve it in `task_group` until that is cancelled.

        Returns when we are in the roster, after the first try for what is free.
        """
        self._server = server
        task_group.start_soon(self._renewal.run)
        await self._roster.open()
        task_group.start_soon(self._roster.run)
        seen = self._roster.stirs
        async with anyio.create_task_group() as first:
            await self._balance(first)
        task_group.start_soon(self._release_at_the_end)
        task_group.start_soon(self._notice_isolation)
        task_group.start_soon(self._keep_balanced, task_group, seen)
        task_group.start_soon(self._hand_over)

    async def drain(self, within_s: float) -> None:
        """Leave the roster and give everything back: each shard as soon as it is idle, at the latest after this time.

        While the store does not answer, nothing can be given back, and nothing waits.
        """
        self._draining = True
        if not await self._leave():
            return
        async with anyio.create_task_group() as tasks:
            for lease in list(self._held.values()):
                self._leaving.add(lease.shard)
                tasks.start_soon(self._give_back, lease, within_s)

    async def _keep_balanced(self, tasks: TaskGroup, seen: int) -> None:
        while True:
            await self._roster.stirred(seen, self._holder.ttl_s / 3)
            seen = self._roster.stirs
            await self._balance(tasks)

    async def _balance(self, tasks: TaskGroup) -> None:
        if self._draining:
            return
        staying = [lease for lease in self._held.values() if lease.shard not in self._leaving]
        surplus = len(staying) - self._roster.quota
        if surplus < 0:
            await self._gain(-surplus, tasks)
        elif surplus > 0:
            loads = self._server.loads()
            for lease in sorted(staying, key=lambda lease: loads.get(lease.shard, 0))[:surplus]:
                self._leaving.add(lease.shard)
                tasks.start_soon(self._give_back, lease, self._park_s)
        self._tell_balance()

    async def _gain(self, wanted: int, tasks: TaskGroup) -> None:
        """Take up to this number of free shards. Each node starts at another one; follow-up work runs in `tasks`."""
        first = self._roster.place * SHARDS // self._roster.nodes
        order = [shard % SHARDS for shard in range(first, first + SHARDS) if shard % SHARDS not in self._held]
        while wanted > 0 and order:
            tried, order = order[:wanted], order[wanted:]
            async with anyio.create_task_group() as trying:
                for shard in tried:
                    trying.start_soon(self._try_for, shard, tasks)
            wanted -= len(self._held.keys() & tried)
        self._roster.announce()

    async def _try_for(self, shard: int, tasks: TaskGroup) -> None:
        until, token = self._renewal.surely_until(), None
        with anyio.move_on_after(self._holder.ttl_s / 3):  # others need not wait for a server that is away
            token = await self._leases.acquire(_name(shard), self._holder, living=self._roster.others)
        if token is not None:
            lease = self._held[shard] = Lease(shard, token)
            self._renewal.keep(_name(shard), token, until, partial(self._hear_of, lease))
            tasks.start_soon(self._serve, lease)

    async def _serve(self, lease: Lease) -> None:
        await self._server.gained(lease)
        if self._held.get(lease.shard) == lease:
            self._cursors[lease.shard] = "0"
            self._tell_reader()

    async def _give_back(self, lease: Lease, within_s: float) -> None:
        """Finish the work in a shard, then let another node take it."""
        await self._server.park(lease.shard, within_s)
        if self._held.get(lease.shard) == lease:
            self._let_go(lease.shard)
            await self._release(lease)
            self._roster.tell()
            self._bus.publish(NodeHandedOver(lease.shard))
        self._leaving.discard(lease.shard)

    def _hear_of(self, lease: Lease, outcome: Outcome) -> None:
        if self._held.get(lease.shard) != lease:
            return
        if outcome == "lost":
            self._let_go(lease.shard)
            self._bus.publish(NodeShardLost(lease.shard))
            self._told = None
        else:
            self.on_sure()
        self._renewed.send()

    def _let_go(self, shard: int) -> None:
        del self._held[shard]
        self._cursors.pop(shard, None)
        self._tell_reader()
        self._server.lost(shard)

    async def _release(self, lease: Lease) -> None:
        with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
            await self._renewal.drop(_name(lease.shard))
            await self._leases.release(_name(lease.shard), self._holder, lease.token)

    async def _release_at_the_end(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._release_held()

    async def _release_held(self) -> None:
        held = list(self._held.values())
        self._held.clear()
        self._cursors.clear()
        if await self._leave():
            async with anyio.create_task_group() as tasks:
                for lease in held:
                    tasks.start_soon(self._release, lease)

    async def _leave(self) -> bool:
        """Leave the roster; False if the store could not be told."""
        with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
            await self._renewal.fall_silent()
        return await self._roster.leave()

    async def _notice_isolation(self) -> None:
        """Publish one event when some shards stop showing anything, and one when none are left in that state."""
        while True:
            sure = [self._renewal.sure_until(_name(shard)) for shard in self._held]
            await self._clock.sleep_until(min(sure, default=self._renewal.surely_until()))
            if not (silent := self._silent()):
                continue
            since = self._clock.monotonic()
            self._bus.publish(NodeIsolated(silent))
            while self._silent():
                await self._renewed.wait()
            self._bus.publish(NodeReturned(self._clock.monotonic() - since))

    def _silent(self) -> int:
        return sum(not self.may_show(shard) for shard in self._held)

    def _tell_balance(self) -> None:
        now = (len(self._held), self._roster.nodes)
        if now != self._told:
            self._told = now
            self._bus.publish(NodeBalanced(*now))

    async def _hand_over(self) -> None:
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
                pending = self._server.dispatch(entry, leases[entry.shard])
                if pending is not None:
                    await pending

    def _tell_reader(self) -> None:
        self._reading.cancel()
        self._changed.send()


def _name(shard: int) -> str:
    return f"shard:{shard}"


class ClusterFront(Struct, frozen=True):
    """Keeps the leases of bots' connections, and knows who serves conversations. Holds no shard."""

    roster: ClusterRoster
    renewal: LeaseRenewal
    fronts: NodeStore
    """Where fronts are announced."""
    watch: Callable[[], Coroutine[Any, Any, None]]
    """Runs as long as this one, and begins when it knows the nodes."""

    async def run(self, tasks: TaskGroup) -> None:
        """Renew leases in `tasks` until that is cancelled. Returns when the nodes are known.

        Raises StorageUnavailable.
        """
        tasks.start_soon(self.renewal.run)
        await self.fronts.announce(self.roster.holder)
        await self.roster.open()
        tasks.start_soon(self.roster.run)
        tasks.start_soon(self.watch)

    async def drain(self, _within_s: float) -> None:
        """Say that this front goes. It has no shard to give back."""
        with anyio.move_on_after(_LEAVE_LIMIT_S):
            await self.renewal.fall_silent()
            await self.fronts.leave(self.roster.holder)

    def at_work(self) -> int:
        """The number of conversations at work: none."""
        return 0
