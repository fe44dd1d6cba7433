"""Renewing of leases, which a busy loop does not delay: it goes on in a loop of its own, in a thread of its own.

the gateway's loop                                   the thread's loop, every ttl/3 s, while the other lives
keep(name, token) ───────────> leases that are kept ──> renew all ──> announce the node
sure_until(name)  <─────────────────────────────────────────┤
on_outcome        <──── lost, or surely ours again ─────────┘
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Literal

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync
from msgspec import Struct

from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.stores.sessions import LeaseHolder, LeaseStore, NodeStore

SURE = 0.8
"""The part of its time for which a lease is surely ours by our own clock. What is left is for calls of platforms that
are on their way when it ends: another node may have taken over when the time is up."""

HUNG_S = 10.0
"""How long a busy loop keeps its leases. Chosen: longer than anything that ends; a loop that hangs must lose them."""

Outcome = Literal["again", "lost"]
"""The outcome of a renewal: a lease is certainly ours again after a doubt, or it is another node's."""

Stores = tuple[LeaseStore, NodeStore]
Opened = Callable[[], AbstractAsyncContextManager[Stores]]
Runner = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


class _Call(Struct, eq=False):
    """Whether a call is under way. `over` is set in the gateway's loop when it ends and a task waits for that."""

    under_way: bool = False
    over: anyio.Event | None = None


class _Kept(_Call, eq=False):
    """A lease. `until` is the time, by our clock, from which it may be another node's. It is renewed until it is
    `lost`.
    """

    name: str = ""
    token: int = 0
    until: float = -math.inf
    on_outcome: Callable[[Outcome], None] = lambda _: None
    lost: bool = False


class LeaseRenewal:
    """Renews leases every third of their time, and says after each time that this node lives.

    `run` does so over stores of its own, in the loop in which `runner` runs it. Everything else is for the loop that
    awaits `run`, and outcomes are told there. When that loop has not answered for `hung_s`, nothing is renewed.
    """

    def __init__(
        self, opened: Opened, holder: LeaseHolder, clock: Clock, *, runner: Runner, hung_s: float = HUNG_S
    ) -> None:
        self._opened = opened
        self._holder = holder
        self._clock = clock
        self._runner = runner
        self._hung_s = hung_s
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._announcement = _Call()
        self._silent = False
        self._asked_at: float | None = None
        self._loop: asyncio.AbstractEventLoop
        self._outcomes: dict[_Kept, None] = {}
        self._any_outcome = anyio.Event()

    def surely_until(self) -> float:
        """The time until which a lease requested now is certainly ours."""
        return self._clock.monotonic() + SURE * self._holder.ttl_s

    def keep(self, name: str, token: int, until: float, on_outcome: Callable[[Outcome], None]) -> None:
        """Renew a lease from now on; until `until` it is certainly ours. A lost lease is dropped."""
        with self._lock:
            self._kept[name] = _Kept(name=name, token=token, until=until, on_outcome=on_outcome)

    def sure_until(self, name: str) -> float:
        """The time, by our clock, until which a lease is certainly ours; long past for an unknown one."""
        kept = self._kept.get(name)
        return -math.inf if kept is None else kept.until

    async def drop(self, name: str) -> None:
        """Stop renewing a lease. On return no renewal is under way that could undo its release."""
        with self._lock:
            kept = self._kept.pop(name, None)
        if kept is not None:
            await self._over(kept)

    async def fall_silent(self) -> None:
        """Stop announcing this node. On return no announcement is under way."""
        with self._lock:
            self._silent = True
        await self._over(self._announcement)

    async def run(self) -> None:
        """Renew until cancelled. Raises what the stores raise."""
        self._loop = asyncio.get_running_loop()
        async with beside() as tasks:
            tasks.start_soon(self._tell_outcomes)
            await self._runner(self._renew_all)

    async def _over(self, call: _Call) -> None:
        with self._lock:
            if not call.under_way:
                return
            call.over = over = call.over or anyio.Event()
        await over.wait()

    async def _renew_all(self) -> None:
        asked_at = self._clock.monotonic()
        async with self._opened() as (leases, nodes), anyio.create_task_group() as tasks:
            while True:
                await self._clock.sleep_until(asked_at + self._holder.ttl_s / 3)
                asked_at = self._clock.monotonic()
                if self._gateway_lives(asked_at):
                    tasks.start_soon(self._announce, nodes, self._renew_each(leases, tasks))

    def _gateway_lives(self, now: float) -> bool:
        """Ask the gateway's loop for a sign of life, and return whether it has answered recently."""
        with self._lock:
            if self._asked_at is not None:
                return now - self._asked_at < self._hung_s
            self._asked_at = now
        self._loop.call_soon_threadsafe(self._live)
        return True

    def _live(self) -> None:
        with self._lock:
            self._asked_at = None

    def _renew_each(self, leases: LeaseStore, tasks: TaskGroup) -> Sequence[anyio.Event]:
        """Start all renewals independently, so a server that is away delays no lease of the others. Returns an event
        for the end of each.
        """
        with self._lock:
            kept = [one for one in self._kept.values() if not (one.under_way or one.lost)]
        return [self._started(one, leases, tasks) for one in kept]

    def _started(self, kept: _Kept, leases: LeaseStore, tasks: TaskGroup) -> anyio.Event:
        over = anyio.Event()

        async def renew() -> None:
            await self._renew(kept, leases)
            over.set()

        tasks.start_soon(renew)
        return over

    async def _renew(self, kept: _Kept, leases: LeaseStore) -> None:
        with self._lock:
            if self._kept.get(kept.name) is not kept:
                return
            kept.under_way = True
        ours, was_sure, until = None, True, self.surely_until()
        try:
            ours = await leases.renew(kept.name, self._holder, kept.token)
        finally:
            with self._lock:
                was_sure = self._clock.monotonic() < kept.until
                kept.until, kept.lost = until if ours else kept.until, ours is False
            self._end(kept)
        if kept.lost or not was_sure:
            self._loop.call_soon_threadsafe(self._note, kept)

    def _note(self, kept: _Kept) -> None:
        self._outcomes[kept] = None
        self._any_outcome.set()

    async def _tell_outcomes(self) -> None:
        """Report outcomes from a task, since the listener may start other work."""
        while True:
            await self._any_outcome.wait()
            self._any_outcome = anyio.Event()
            while self._outcomes:
                self._tell(self._outcomes.popitem()[0])

    def _tell(self, kept: _Kept) -> None:
        if self._kept.get(kept.name) is not kept:
            return
        if kept.lost:
            del self._kept[kept.name]
        kept.on_outcome("lost" if kept.lost else "again")

    async def _announce(self, nodes: NodeStore, renewals: Sequence[anyio.Event]) -> None:
        """Announce the node after its leases, so that none outlives it. An unrenewed lease hardly delays this."""
        with anyio.move_on_after(self._holder.ttl_s / 6):
            for over in renewals:
                await over.wait()
        with self._lock:
            if self._silent or self._announcement.under_way:
                return
            self._announcement.under_way = True
        try:
            await nodes.announce(self._holder)
        finally:
            self._end(self._announcement)

    def _end(self, call: _Call) -> None:
        with self._lock:
            call.under_way, over, call.over = False, call.over, None
        if over is not None:
            self._loop.call_soon_threadsafe(over.set)


async def in_thread(work: Callable[[], Awaitable[None]]) -> None:
    """Run work in a loop and a thread of its own. When cancelled, it returns once the work has ended."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    async def until_stopped() -> None:
        async with beside() as tasks:
            tasks.start_soon(_cancelled_at, stop, tasks.cancel_scope)
            await work()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(until_stopped())

    async def pass_on_a_cancellation() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with suppress(RuntimeError):  # the loop is closed, so the work has ended
                loop.call_soon_threadsafe(stop.set)

    async with beside() as tasks:
        tasks.start_soon(pass_on_a_cancellation)
        await run_sync(run, limiter=anyio.CapacityLimiter(1))


async def _cancelled_at(stop: asyncio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()
