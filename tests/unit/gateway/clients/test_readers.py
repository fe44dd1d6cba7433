"""Who reads events on other nodes is known here, and forgotten when its node is gone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from gateway.clients.feed import VALID_S, Reader, Readers, receivers
from runtime.core.cloud_event import CloudEvent
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

BUILDS = Reader(("build.>",), (">",), None)


class Process:
    """One process. `here` are its readers."""

    def __init__(self, records: MemoryRecords, clock: FakeClock) -> None:
        self.here: list[Reader] = []
        self.clock = clock
        self.readers = Readers(records, clock)

    async def has(self, *readers: Reader) -> None:
        """These read here now, and that is written down."""
        self.here = list(readers)
        self.readers.changed()
        await self.clock.advance(1)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.readers.run, lambda: self.here)
            await self.clock.settle()
            yield
            tasks.cancel_scope.cancel()


def event(clock: FakeClock, type_: str, subject: str | None = None) -> CloudEvent:
    return CloudEvent("1", type_, "/clients/ci", clock.now(), subject)


async def test_readers_of_other_processes_are_known_while_they_read() -> None:
    records, clock = MemoryRecords(), FakeClock()
    one, other = Process(records, clock), Process(records, clock)
    async with one.running(), other.running():
        await other.has(BUILDS, BUILDS)
        assert await one.readers.elsewhere() == [BUILDS, BUILDS]
        assert await other.readers.elsewhere() == []
        await other.has()
        assert await one.readers.elsewhere() == []
        await other.has(BUILDS)
    assert await one.readers.elsewhere() == []


async def test_a_process_that_was_killed_is_forgotten_after_a_while() -> None:
    records, clock = MemoryRecords(), FakeClock()
    one = Process(records, clock)
    killed = {"until": clock.now().timestamp() + VALID_S, "readers": [{"may": [">"], "types": ["a"], "subject": "eu"}]}
    await records.put("killed", json.dumps(killed))
    assert await one.readers.elsewhere() == [Reader((">",), ("a",), "eu")]
    await clock.advance(VALID_S + 1)
    assert await one.readers.elsewhere() == []
    assert await records.all() == {}


def test_a_reader_counts_once_for_events_that_it_may_have_and_wants() -> None:
    clock = FakeClock()
    readers = [
        BUILDS,
        Reader((">",), ("deploy.*",), None),
        Reader((">",), (">",), "eu"),
        Reader((), (">",), None),
    ]
    assert receivers(readers, [event(clock, "build.done"), event(clock, "build.begun")]) == 1
    assert receivers(readers, [event(clock, "build.done", "eu")]) == 2
    assert receivers(readers, [event(clock, "deploy.done")]) == 1
    assert receivers(readers, [event(clock, "deploy.done", "eu")]) == 2
    assert receivers(readers, [event(clock, "test.done")]) == 0
