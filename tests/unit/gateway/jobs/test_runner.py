"""Work at certain times: by one node of all, once for what was missed, again when it fails."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import anyio

from gateway.jobs.runner import RETRY_S, Job, JobRunner, every
from runtime.bus import Bus
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

MINUTE = timedelta(minutes=1)


class Cluster:
    """What nodes share, and a job that notes when it ran, where a gate lets it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.leases = MemoryLeaseStore(self.clock)
        self.done = MemoryRecords()
        self.ran: list[datetime] = []
        self.at_once = 0
        self.most_at_once = 0
        self.fails = 0
        self.gate: anyio.Event | None = None
        self.failures: list[str] = []

    async def work(self, due: datetime) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.fails:
                self.fails -= 1
                raise ValueError("no luck")
            self.ran.append(due)
        finally:
            self.at_once -= 1

    @asynccontextmanager
    async def node(self, name: str, *jobs: Job) -> AsyncIterator[Callable[[], None]]:
        """A node that runs until the block ends; what is given kills it before."""
        bus = Bus(self.clock)
        bus.subscribe("job.failed", lambda event: self.failures.append(str(event.data["job"])))
        kept = JobRunner(
            jobs or [every("work", MINUTE, self.work)], self.leases, self.done, LeaseHolder(name), self.clock, bus
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.run)
            await self.clock.settle()
            yield tasks.cancel_scope.cancel
            tasks.cancel_scope.cancel()

    def minutes(self) -> list[float]:
        """When the job ran, in minutes since the beginning."""
        return [(due - self.start) / MINUTE for due in self.ran]

    start = FakeClock().now()


async def test_a_job_runs_at_its_times() -> None:
    cluster = Cluster()
    async with cluster.node("a"):
        await cluster.clock.advance(59)
        assert cluster.ran == []
        await cluster.clock.advance(121)
    assert cluster.minutes() == [1, 2, 3]


async def test_of_several_nodes_one_does_it_and_never_two_at_once() -> None:
    cluster = Cluster()
    async with cluster.node("a"), cluster.node("b"), cluster.node("c"):
        await cluster.clock.advance(300)
    assert cluster.minutes() == [1, 2, 3, 4, 5]
    assert cluster.most_at_once == 1


async def test_while_one_node_is_at_work_another_waits() -> None:
    cluster = Cluster()
    cluster.gate = anyio.Event()
    async with cluster.node("a"), cluster.node("b"):
        await cluster.clock.advance(200)
        assert cluster.at_once == 1
        cluster.gate.set()
        await cluster.clock.advance(30)
    assert cluster.most_at_once == 1
    assert len(cluster.ran) == 2


async def test_a_node_that_dies_at_work_is_followed_by_another() -> None:
    cluster = Cluster()
    cluster.gate = anyio.Event()
    async with cluster.node("a") as kill:
        await cluster.clock.advance(61)
        assert cluster.at_once == 1
        async with cluster.node("b"):
            kill()
            await cluster.clock.settle()
            cluster.gate.set()
            await cluster.clock.advance(10)
            assert cluster.minutes() == [1]


async def test_what_was_missed_while_no_node_ran_is_done_once() -> None:
    cluster = Cluster()
    async with cluster.node("a"):
        await cluster.clock.advance(90)
    await cluster.clock.advance(3600)
    async with cluster.node("a"):
        await cluster.clock.settle()
        assert cluster.minutes() == [1, 2]
        await cluster.clock.advance(60)
        assert len(cluster.ran) == 3


async def test_a_job_that_fails_is_told_and_tried_again() -> None:
    cluster = Cluster()
    cluster.fails = 2
    async with cluster.node("a"):
        await cluster.clock.advance(60)
        assert cluster.failures == ["work"]
        await cluster.clock.advance(RETRY_S)
        assert cluster.failures == ["work", "work"]
        await cluster.clock.advance(RETRY_S)
    assert cluster.minutes() == [1]


async def test_a_lost_lease_ends_the_work() -> None:
    cluster = Cluster()
    cluster.gate = anyio.Event()
    async with cluster.node("a"):
        await cluster.clock.advance(61)
        cluster.leases._leases["job:work"].node = "somebody else"
        await cluster.clock.advance(5)
        assert cluster.at_once == 0
    assert cluster.ran == []


async def test_one_job_that_takes_long_holds_up_no_other() -> None:
    cluster = Cluster()
    cluster.gate = anyio.Event()
    others: list[datetime] = []

    async def other(due: datetime) -> None:
        others.append(due)

    async with cluster.node("a", every("work", MINUTE, cluster.work), every("other", MINUTE, other)):
        await cluster.clock.advance(180)
    assert len(others) == 3
