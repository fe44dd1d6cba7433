"""Renewing beside the gateway's loop: what is given back stays so, and who lives says so last."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import anyio
import pytest

from gateway.cluster.renewal import in_thread
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.sessions import LeaseHolder, LivingNodes
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.renewing import renewing

pytestmark = pytest.mark.anyio

ADA = LeaseHolder("ada", ttl_s=9.0)


@dataclass
class Slow:
    """Calls that stand still until they may go on."""

    entered: int = 0
    gate: anyio.Event = field(default_factory=anyio.Event)

    async def pass_by(self) -> None:
        self.entered += 1
        await self.gate.wait()


class SlowLeases(MemoryLeaseStore):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.slow = Slow()

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        await self.slow.pass_by()
        return await super().renew(name, holder, token)

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        if await super().renew(name, holder, token):
            self._leases[name].expires_s = 0.0


class SlowNodes(MemoryNodeStore):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.slow = Slow()

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        await self.slow.pass_by()
        return await super().announce(holder)


async def test_a_lease_that_is_given_back_while_it_is_renewed_stays_given_back() -> None:
    clock = FakeClock()
    leases = SlowLeases(clock)
    renewal = renewing(leases, MemoryNodeStore(clock), ADA, clock)

    async def give_back(token: int) -> None:
        await renewal.drop("shard:1")
        await leases.release("shard:1", ADA, token)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        token = await leases.acquire("shard:1", ADA)
        assert token is not None
        renewal.keep("shard:1", token, renewal.surely_until(), lambda _: None)
        await clock.advance(ADA.ttl_s / 3)
        assert leases.slow.entered == 1
        tasks.start_soon(give_back, token)
        await clock.settle()
        leases.slow.gate.set()
        await clock.advance(ADA.ttl_s / 3)
        assert (leases.node("shard:1"), leases.slow.entered) == (None, 1)
        tasks.cancel_scope.cancel()


async def test_a_node_that_has_fallen_silent_is_not_announced_again() -> None:
    clock = FakeClock()
    nodes = SlowNodes(clock)
    renewal = renewing(MemoryLeaseStore(clock), nodes, ADA, clock)

    async def leave() -> None:
        await renewal.fall_silent()
        await nodes.leave(ADA)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        await clock.advance(ADA.ttl_s / 3)
        assert nodes.slow.entered == 1
        tasks.start_soon(leave)
        await clock.settle()
        nodes.slow.gate.set()
        await clock.advance(ADA.ttl_s / 3)
        assert (list((await nodes.living()).nodes), nodes.slow.entered) == ([], 1)
        tasks.cancel_scope.cancel()


async def test_a_node_is_announced_after_its_leases_so_that_none_outlives_it() -> None:
    clock = FakeClock()
    leases, nodes = SlowLeases(clock), SlowNodes(clock)
    renewal = renewing(leases, nodes, ADA, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        renewal.keep("shard:1", await leases.acquire("shard:1", ADA) or 0, renewal.surely_until(), lambda _: None)
        await clock.advance(ADA.ttl_s / 3)
        assert (leases.slow.entered, nodes.slow.entered) == (1, 0)
        leases.slow.gate.set()
        await clock.settle()
        assert nodes.slow.entered == 1
        tasks.cancel_scope.cancel()


async def test_who_is_told_that_a_lease_is_lost_may_start_work() -> None:
    clock = FakeClock()
    leases, told = MemoryLeaseStore(clock), list[anyio.CancelScope]()
    renewal = renewing(leases, MemoryNodeStore(clock), ADA, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renewal.run)
        renewal.keep("shard:1", 1, renewal.surely_until(), lambda _: told.append(anyio.CancelScope()))
        await clock.advance(ADA.ttl_s / 3)
        assert len(told) == 1
        tasks.cancel_scope.cancel()


async def test_work_in_a_thread_has_ended_when_who_asked_for_it_is_cancelled() -> None:
    begun, ended = anyio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def work() -> None:
        here.call_soon_threadsafe(begun.set)
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_thread, work)
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert ended.is_set()


async def test_an_error_of_work_in_a_thread_is_raised_where_it_was_asked_for() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_thread(work)
