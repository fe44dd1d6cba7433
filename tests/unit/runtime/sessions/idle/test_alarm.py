"""The alarm sleeps until the first timer of the shards it watches, and looks at the calendar meanwhile."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from unittest.mock import patch

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.clock import LOOK_S, until
from runtime.core.ids import SessionId
from runtime.sessions.idle import AT_ONCE, TimerAlarm
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import TIMER, Commit, Lease, LeaseHolder, SessionRecord, SessionTimer
from tests.fakes.clock import FakeClock
from tests.fakes.memory.sessions import OpenSessionStore
from tests.fakes.memory.timers import MemoryTimers

DAY_S = 86_400.0


class SettableClock(FakeClock):
    """A clock whose calendar somebody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.off = timedelta()

    def now(self) -> datetime:
        return super().now() + self.off


class Night:
    """Sessions in two shards, and the alarm that is to wake them."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.leases = MemoryLeaseStore(self.clock)
        self.inbox = MemoryInbox(self.leases)
        self.store = OpenSessionStore(self.leases, self.inbox)
        self.timers = MemoryTimers(self.leases, self.store)
        self.alarm = TimerAlarm(self.timers, self.store, self.inbox, self.clock)
        self.held: dict[int, Lease] = {}

    async def sleeper(self, name: str) -> tuple[Lease, SessionId]:
        """A session in a conversation of its own."""
        address, id_ = Address("test", name), SessionId(f"s{name}")
        shard = shard_of(address.key)
        if shard not in self.held:
            self.held[shard] = Lease(shard, await self.leases.acquire(f"shard:{shard}", LeaseHolder("a")) or 0)
            await self.alarm.watch(shard)
        record = SessionRecord(id_, address, "p", self.clock.now(), 0)
        await self.store.commit(Commit(self.held[shard], id_, 0, begin=record, awake=True))
        return self.held[shard], id_

    async def put_to_sleep(self, name: str, seconds: float) -> Lease:
        lease, id_ = await self.sleeper(name)
        assert await self.alarm.set(lease, SessionTimer(id_, self.clock.now().timestamp() + seconds), 0)
        return lease

    async def rung(self) -> list[str]:
        """The conversations with an event, in order."""
        entries = await self.inbox.read(dict.fromkeys(self.held, "0"), wait_s=0)
        assert {entry.event.kind for entry in entries} <= {TIMER}
        return [entry.event.address.conversation for entry in sorted(entries, key=lambda one: int(one.entry_id[:-2]))]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.alarm.run)
            await self.clock.settle()
            yield
            tasks.cancel_scope.cancel()


async def test_each_timer_rings_at_its_time_whichever_is_set_first() -> None:
    night = Night()
    async with night.running():
        await night.put_to_sleep("late", 300)
        await night.put_to_sleep("early", 100)
        await night.clock.advance(99)
        assert await night.rung() == []
        await night.clock.advance(1)
        assert await night.rung() == ["early"]
        await night.clock.advance(200)
    assert await night.rung() == ["early", "late"]


async def test_a_shard_that_is_not_ours_any_more_is_silent_and_its_next_node_rings() -> None:
    night = Night()
    async with night.running():
        lease = await night.put_to_sleep("x", 100)
        night.alarm.forget(lease.shard)
        await night.clock.advance(200)
        assert await night.rung() == []
        await night.alarm.watch(lease.shard)
        await night.clock.settle()
    assert await night.rung() == ["x"]


async def test_a_shard_whose_server_is_away_holds_up_no_other() -> None:
    night, away = Night(), anyio.Event()
    due = night.timers.due

    async def slow(shard: int, until_s: float, limit: int) -> Sequence[SessionTimer]:
        if shard == silent.shard:
            await away.wait()
        return await due(shard, until_s, limit)

    silent = await night.put_to_sleep("x", 10)
    assert (await night.put_to_sleep("y", 20)).shard != silent.shard
    with patch.object(night.timers, "due", slow):
        async with night.running():
            await night.clock.advance(20)
            assert await night.rung() == ["y"]
            away.set()
            await night.clock.settle()
    assert await night.rung() == ["y", "x"]


async def test_more_than_ring_at_once_ring_one_batch_after_the_other() -> None:
    night = Night()
    home = shard_of(Address("test", "0").key)
    names = [str(number) for number in range(64 * 2 * AT_ONCE) if shard_of(Address("test", str(number)).key) == home]
    for name in names[: AT_ONCE + 5]:
        await night.put_to_sleep(name, 10)
    async with night.running():
        await night.clock.advance(10)
    assert len(await night.rung()) == AT_ONCE + 5


@pytest.mark.parametrize("moved", [timedelta(days=1), timedelta(days=-1)])
async def test_a_clock_that_is_set_is_noticed_soon(moved: timedelta) -> None:
    night = Night()
    async with night.running():
        await night.put_to_sleep("x", DAY_S / 2)
        night.clock.off = moved
        await night.clock.advance(LOOK_S)
        assert await night.rung() == (["x"] if moved > timedelta() else [])
        await night.clock.advance(DAY_S / 2)
        assert await night.rung() == (["x"] if moved > timedelta() else [])


async def test_a_wait_for_a_time_notices_a_clock_that_is_set() -> None:
    clock, over = SettableClock(), anyio.Event()

    async def wait() -> None:
        await until(clock, clock.now().timestamp() + DAY_S)
        over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.advance(LOOK_S)
        assert not over.is_set()
        clock.off = timedelta(days=1)
        await clock.advance(LOOK_S)
        assert over.is_set()
