"""The live nodes, those that are to be empty, the number of shards that each gets, and the next check."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection
from functools import partial

import anyio
from msgspec import Struct, field

from adapters.records import Records
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.stores.sessions import SHARDS, LeaseHolder, LivingNodes, NodeStore

DRAINS_TABLE = "nodes:drained"

_LISTEN_S = 30.0
_AFTER_DEATH_S = 0.05
"""The extra delay after a death, because a dead node renewed its leases shortly after its last announcement."""

_LEAVE_LIMIT_S = 3.0

_PATIENCE_S = 2.0
"""The least time that other nodes get to announce themselves once the store answers again: their calls pause for up to
a second before a retry.
"""


class NodeDrains(Struct, frozen=True):
    """Marks nodes by their names. Raises StorageUnavailable."""

    _records: Records

    async def marked(self) -> Collection[str]:
        """The nodes that are to be empty, living or not."""
        return (await self._records.all()).keys()

    async def mark(self, node: str, by: str) -> None:
        """Have a node be empty until it is forgotten, or begins anew. `by` is who wants it."""
        await self._records.put(node, by)

    async def forget(self, node: str) -> None:
        await self._records.remove(node)


class ClusterRoster(Struct, eq=False):
    """Keeps us in the roster, and stirs those who wait for a lease.

    It stirs when a node comes, leaves, dies or gives something back: within the time of a round trip, but for a death,
    which is noticed when the node's time has run out. A process that does not enter has no quota, and only looks.
    """

    _store: NodeStore
    holder: LeaseHolder
    clock: Clock
    enters: bool = True
    drains: NodeDrains | None = None
    """Knows the nodes that are to be empty."""
    _marked: frozenset[str] = frozenset()
    _others: dict[str, float] = field(default_factory=dict)
    _news: str = "0-0"
    _left: bool = False
    _heard: bool = False
    _stirred: WakeSignal = field(default_factory=WakeSignal)
    _to_tell: anyio.Event = field(default_factory=anyio.Event)
    _to_announce: anyio.Event = field(default_factory=anyio.Event)
    _announcing: anyio.Lock = field(default_factory=anyio.Lock)
    _asked_at: list[float] = field(default_factory=list)
    """The start of the questions that the store has not answered."""
    _patient_until: float = -math.inf
    """A deadline: while the store was away, other nodes could not announce themselves either, so they get extra time.
    """
    stirs: int = 0
    """The number of changes so far."""

    @property
    def nodes(self) -> int:
        """The number of live nodes, this one included if it enters."""
        return len(self._others) + self.enters

    @property
    def others(self) -> Collection[str]:
        """The other nodes that live."""
        return self._others.keys()

    @property
    def drained(self) -> bool:
        """Whether this node is to hold nothing, while another one can."""
        return self.holder.node in self._empty()

    @property
    def place(self) -> int:
        """This node's position among those that take shards, from 0."""
        return sum(node < self.holder.node for node in self._others.keys() - self._empty())

    @property
    def quota(self) -> int:
        """This node's number of shards. The quotas of all nodes add up to all shards."""
        empty = self._empty()
        if self._left or not self.enters or self.holder.node in empty:
            return 0
        whole, left_over = divmod(SHARDS, self.nodes - len(empty))
        return whole + (self.place < left_over)

    async def open(self) -> None:
        """Enter the roster, or look at it for the first time. A node that begins is no longer to be empty.

        Raises StorageUnavailable.
        """
        if self.drains is not None and self.enters:
            await self.drains.forget(self.holder.node)
        self._news = await self._announce_or_look()

    def announce(self) -> None:
        """Announce this node soon. Call it after leases were taken or renewed, so that none outlives us."""
        self._to_announce.set()

    async def run(self) -> None:
        """Check for live nodes whenever they may have changed, until cancelled. Raises StorageUnavailable."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            tasks.start_soon(self._tell_others)
            tasks.start_soon(self._keep_announcing)
            while True:
                await self.clock.sleep_until(self._next_look())
                await self._announce_or_look()

    async def leave(self) -> bool:
        """Take no more leases, and tell the others. Leases that this node holds stay until they are given back.

        False when the store does not answer, so that nobody was told.
        """
        if not self._left:
            self._left = True
            with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True) as limit:
                async with self._announcing:  # what is under way would enter us again
                    await self._store.leave(self.holder)
            self._heard = not limit.cancelled_caught
        return self._heard

    def tell(self) -> None:
        """Tell the others soon that a lease was given back; several releases share one notice."""
        self._to_tell.set()

    async def tell_now(self) -> None:
        """Tell the others at once and within a time limit, at the end of a process."""
        if self._left and not self._heard:
            return
        with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
            await self._store.tell()

    async def stirred(self, since: int, within_s: float) -> None:
        """Return after more than `since` stirs, or after a time limit."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._alarm, self.clock.monotonic() + within_s, tasks.cancel_scope)
            while self.stirs == since:
                await self._stirred.wait()
            tasks.cancel_scope.cancel()

    async def _alarm(self, at: float, scope: anyio.CancelScope) -> None:
        await self.clock.sleep_until(at)
        scope.cancel()

    def _next_look(self) -> float:
        """The time when the next node will have died, unless it reports before."""
        now = self.clock.monotonic()
        deaths = (max(at, now) + _AFTER_DEATH_S for at in self._others.values())
        return min(now + self.holder.ttl_s / 3, *deaths, math.inf)

    async def _announce_or_look(self) -> str:
        """Announce this node and ask who is alive; only ask if it has left, or does not enter. Returns the latest news.

        A store that refuses our announcement refuses those of the others as well, even if it answers questions.
        """
        async with self._announcing:
            looks = self._left or not self.enters
            return await self._ask(self._store.living if looks else partial(self._store.announce, self.holder))

    async def _ask(self, question: Callable[[], Awaitable[LivingNodes]]) -> str:
        """Ask who lives; the latest news."""
        asked_at = self.clock.monotonic()
        self._asked_at.append(asked_at)
        try:
            living = await question()
            marked = self._marked if self.drains is None else frozenset(await self.drains.marked())
        finally:
            longest = self._asked_at[0]
            self._asked_at.remove(asked_at)
        now = self.clock.monotonic()
        if now - longest > self.holder.ttl_s / 3:
            self._patient_until = now + max(self.holder.ttl_s / 3, _PATIENCE_S)
        self._note(living, marked, now)
        return living.news

    def _empty(self) -> frozenset[str]:
        """The nodes that are to hold nothing: nobody, where that would be all of them."""
        serving = {*self._others, self.holder.node} if self.enters and not self._left else {*self._others}
        return self._marked & serving if serving - self._marked else frozenset()

    def _note(self, living: LivingNodes, marked: frozenset[str], now: float) -> None:
        """Nobody dies before the time that they once had, measured by our own clock: the store's can be put forward."""
        before = self._others
        others = {node: until for node, until in before.items() if until > now and node not in living.left}
        for node, left_s in living.nodes.items():
            others[node] = max(now + left_s, others.get(node, now))
        others.pop(self.holder.node, None)
        if now < self._patient_until:
            others = dict.fromkeys(before, self._patient_until) | others
        changed, self._marked = marked != self._marked, marked
        self._others = others
        if changed or others.keys() != before.keys():
            self._stir()

    async def _keep_announcing(self) -> None:
        while True:
            await self._to_announce.wait()
            self._to_announce = anyio.Event()
            await self._announce_or_look()

    async def _listen(self) -> None:
        while True:
            news = await self._store.news(self._news, wait_s=_LISTEN_S)
            if news == self._news:
                continue
            self._news = news
            await self._ask(self._store.living)
            self._stir()

    async def _tell_others(self) -> None:
        while True:
            await self._to_tell.wait()
            self._to_tell = anyio.Event()
            await self._store.tell()

    def _stir(self) -> None:
        self.stirs += 1
        self._stirred.send()
