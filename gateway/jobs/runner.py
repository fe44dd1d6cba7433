"""Work that is done at times, by one node of all: schedules of the settings, and what tidies up.

sleep until it is due ──> lease job:<name> ──> still due? ──> run, as long as the lease is ours ──> note the time
        ^                    │ another node has it                    │ it fails: job.failed            │
        └────────────────────┴────────────────────────────────────────┴─ a pause ───────────────────────┘
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

import anyio
from msgspec import Struct

from adapters.records import Records
from runtime.bus import Bus
from runtime.core.clock import Clock, until
from runtime.events.service import JobFailed
from runtime.stores.sessions import LeaseHolder, LeaseStore

JOBS_TABLE = "jobs"
"""The table of the times up to which each job has been done."""

RETRY_S = 30.0
"""The pause after a failed job. Chosen: long enough for a readable log."""


class Job(Struct, frozen=True):
    """Work with a unique and lasting name.

    `next_run` gives the first time after another, in UTC. `run` is given the time for which it runs. It may run again
    for the same time after a crash, so two runs must have the effect of one.
    """

    name: str
    next_run: Callable[[datetime], datetime]
    run: Callable[[datetime], Awaitable[None]]


def every(name: str, interval: timedelta, run: Callable[[datetime], Awaitable[None]]) -> Job:
    """A job that is due this long after its last run became due."""
    return Job(name, lambda after: after + interval, run)


class JobRunner(Struct, frozen=True):
    """Runs each job at its times, once among all nodes and never two at once, for as long as `run` runs.

    However many times went by while no node ran, a job runs once for them, late. A job that is met for the first time
    waits for its next time. A node that dies at work is followed by another when its lease has run out. A process that
    hangs for longer than its lease may still be at work when the next one begins.
    """

    _jobs: Sequence[Job]
    _leases: LeaseStore
    _done: Records
    _holder: LeaseHolder
    _clock: Clock
    _bus: Bus

    async def run(self) -> None:
        """Run the jobs until cancelled."""
        async with anyio.create_task_group() as tasks:
            for job in self._jobs:
                tasks.start_soon(self._keep, job)

    async def _keep(self, job: Job) -> None:
        while True:
            await until(self._clock, (await self._due(job)).timestamp())
            pause_s = await self._turn(job)
            if pause_s:
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)

    async def _due(self, job: Job) -> datetime:
        last = await self._done.get(job.name)
        if last is None:
            last = self._clock.now().isoformat()
            await self._done.put(job.name, last)
        return job.next_run(datetime.fromisoformat(last)).astimezone(UTC)

    async def _turn(self, job: Job) -> float:
        """Run a job that is due, unless another node does; returns the time until the next look at it."""
        name = f"job:{job.name}"
        token = await self._leases.acquire(name, self._holder)
        if token is None:
            return self._holder.ttl_s / 3
        try:
            due = await self._due(job)
            if due > self._clock.now():
                return 0.0
            return await self._run_under(job, due, name, token)
        finally:
            with anyio.CancelScope(shield=True):
                await self._leases.release(name, self._holder, token)

    async def _run_under(self, job: Job, due: datetime, name: str, token: int) -> float:
        """Run a job while its lease is ours."""
        pause_s = self._holder.ttl_s / 3

        async def keep() -> None:
            while True:
                await self._clock.sleep_until(self._clock.monotonic() + self._holder.ttl_s / 3)
                if not await self._leases.renew(name, self._holder, token):
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep)
            pause_s = await self._attempt(job, due)
            tasks.cancel_scope.cancel()
        return pause_s

    async def _attempt(self, job: Job, due: datetime) -> float:
        now = self._clock.now()
        try:
            await job.run(due)
        except Exception as error:  # noqa: BLE001 - whatever a job raises, it is told and tried again
            self._bus.publish(JobFailed(job.name, repr(error)))
            return RETRY_S
        await self._done.put(job.name, max(now, due).isoformat())
        return 0.0
