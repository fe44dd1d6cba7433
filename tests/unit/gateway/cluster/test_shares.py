"""A node's part of shared limits, from its first claim to its end."""

from __future__ import annotations

import anyio
import pytest

from gateway.cluster.bots import Shares
from gateway.cluster.roster import Roster
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.memory.shares import MemoryShareStore

pytestmark = pytest.mark.anyio

ADA, BOB = LeaseHolder("ada", ttl_s=9.0), LeaseHolder("bob", ttl_s=9.0)


class StuckStore(MemoryShareStore):
    """Answers nothing while `stuck`."""

    stuck = False

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        while self.stuck:
            await self._clock.sleep_until(self._clock.monotonic() + 1.0)
        return await super().claim(holder, in_use, weight=weight)


async def test_two_nodes_come_to_a_half_each_and_the_one_that_stays_gets_the_whole_again() -> None:
    clock = FakeClock()
    store = MemoryShareStore(clock)
    told: dict[str, list[float]] = {"ada": [], "bob": []}
    async with anyio.create_task_group() as tasks:
        ada, bob = Shares(store, ADA, clock), Shares(store, BOB, clock)
        await ada.open()
        ada.tell(told["ada"].append)
        tasks.start_soon(ada.run)
        await bob.open()
        bob.tell(told["bob"].append)
        async with anyio.create_task_group() as short_lived:
            short_lived.start_soon(bob.run)
            await clock.advance(12)
            assert (told["ada"], told["bob"]) == ([1.0, 0.5], [0.0, 0.5])
            short_lived.cancel_scope.cancel()
        await clock.advance(3)
        assert told["ada"] == [1.0, 0.5, 1.0]
        tasks.cancel_scope.cancel()


async def test_a_part_that_cannot_be_claimed_again_is_given_up_before_another_node_may_have_it() -> None:
    clock = FakeClock()
    store = StuckStore(clock)
    told: list[float] = []
    async with anyio.create_task_group() as tasks:
        shares = Shares(store, ADA, clock)
        await shares.open()
        shares.tell(told.append)
        tasks.start_soon(shares.run)
        await clock.advance(4)
        store.stuck = True
        await clock.advance(7)
        assert told == [1.0]
        await clock.advance(3)
        assert told == [1.0, 0.0]
        store.stuck = False
        await clock.advance(4)
        assert told == [1.0, 0.0, 1.0]
        tasks.cancel_scope.cancel()


async def test_a_newcomer_has_its_part_as_soon_as_the_roster_knows_of_it() -> None:
    clock = FakeClock()
    store, nodes = MemoryShareStore(clock), MemoryNodeStore(clock)
    parts: dict[str, list[float]] = {"ada": [], "bob": []}
    async with anyio.create_task_group() as tasks:
        for holder in (ADA, BOB):
            roster = Roster(nodes, holder, clock)
            shares = Shares(store, holder, clock, roster)
            await shares.open()
            shares.tell(parts[holder.node].append)
            tasks.start_soon(shares.run)
            await roster.open()
            tasks.start_soon(roster.run)
            await clock.settle()
        assert parts == {"ada": [1.0, 0.5], "bob": [0.0, 0.5]}
        assert clock.monotonic() == 0
        tasks.cancel_scope.cancel()
