"""What floods taught outlives a process."""

import anyio
import anyio.lowlevel
import pytest

from adapters.capabilities import Budget, CallWindow
from adapters.pacing.bucket import BucketMirror
from adapters.pacing.constants import CALLS_PROMISED_S, CLEAN_S
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.lanes import LAST_CALLS, FloodMemory
from runtime.core.errors import RateLimited, StorageUnavailable
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

ROOM = Budget(1.0, 3)
TOTAL = Budget(30.0, 30)


async def restarted(records: MemoryRecords, clock: FakeClock, key: str = "room") -> BucketMirror:
    """A mirror as the next process makes it."""
    memory = FloodMemory(records, clock)
    await memory.open()
    return BucketMirror(ROOM, clock, lesson=memory.recall(key))


async def flood(records: MemoryRecords, clock: FakeClock, *, retry_after_s: float) -> None:
    """A process in which one call is refused, and which then ends."""
    memory = FloodMemory(records, clock)
    await memory.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        scheduler = EditScheduler(TOTAL, clock, tasks, memory=memory)
        outcomes: list[Exception] = [RateLimited("wait", retry_after_s=retry_after_s)]

        async def call() -> None:
            if outcomes:
                raise outcomes.pop()

        tasks.start_soon(scheduler.make, "room", ROOM, call)
        await clock.advance(0.1)
        tasks.cancel_scope.cancel()


async def test_a_learned_rate_and_a_long_pause_outlive_the_process() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await flood(records, clock, retry_after_s=300.0)
    await clock.advance(10)
    mirror = await restarted(records, clock)
    assert mirror.rate_per_s == pytest.approx(0.8)
    assert not mirror.can_take()
    assert mirror.next_token_at() == pytest.approx(300.02, abs=0.01)


async def test_what_a_window_counts_outlives_the_process() -> None:
    clock, records, windowed = FakeClock(), MemoryRecords(), Budget(1.0, 5, window=CallWindow(3, 60.0))
    memory = FloodMemory(records, clock)
    await memory.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        scheduler = EditScheduler(TOTAL, clock, tasks, memory=memory)
        for _ in range(2):
            tasks.start_soon(scheduler.make, "room", windowed, anyio.lowlevel.checkpoint)
            await clock.advance(10)
        tasks.start_soon(scheduler.make, "room", windowed, anyio.sleep_forever)
        await clock.advance(5)
        tasks.cancel_scope.cancel()
    memory = FloodMemory(records, clock)
    await memory.open()
    mirror = BucketMirror(windowed, clock, lesson=memory.recall("room"))
    assert mirror.left == 0
    assert mirror.next_token_at() == pytest.approx(60.0, abs=0.01)
    assert mirror.rate_per_s == 1.0


async def test_a_short_pause_is_not_kept_but_the_rate_is() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await flood(records, clock, retry_after_s=1.0)
    mirror = await restarted(records, clock)
    assert mirror.can_take()
    assert mirror.rate_per_s == pytest.approx(0.8)


async def test_a_rate_recovers_also_while_no_process_runs() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await flood(records, clock, retry_after_s=1.0)
    await clock.advance(2 * CLEAN_S)
    assert (await restarted(records, clock)).rate_per_s == pytest.approx(0.8 / 0.97**2)


async def test_a_bucket_that_is_as_configured_again_is_forgotten() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await flood(records, clock, retry_after_s=1.0)
    assert set(records.records) == {"room", LAST_CALLS}
    memory = FloodMemory(records, clock)
    await memory.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        scheduler = EditScheduler(TOTAL, clock, tasks, memory=memory)
        await clock.advance(20 * CLEAN_S)
        assert await scheduler.make("room", ROOM, anyio.lowlevel.checkpoint)
        await clock.settle()
        tasks.cancel_scope.cancel()
    assert set(records.records) == {LAST_CALLS}


async def test_other_buckets_are_not_written_down() -> None:
    clock, records = FakeClock(), MemoryRecords()
    memory = FloodMemory(records, clock)
    await memory.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        scheduler = EditScheduler(TOTAL, clock, tasks, memory=memory)
        assert await scheduler.make("room", ROOM, anyio.lowlevel.checkpoint)
        await clock.settle()
        tasks.cancel_scope.cancel()
    assert {name for name, _ in records.puts} == {LAST_CALLS}


async def test_a_value_that_cannot_be_read_is_passed_over() -> None:
    clock = FakeClock()
    records = MemoryRecords({"room": "nonsense", "other": '{"rate_per_s": -1, "clean_since": "2026-01-01"}'})
    assert (await restarted(records, clock)).rate_per_s == 1.0


async def test_what_could_not_be_saved_is_saved_with_the_next_note() -> None:
    class Broken(MemoryRecords):
        broken = True

        async def put(self, name: str, value: str, /) -> None:
            if self.broken:
                raise StorageUnavailable("away")
            await super().put(name, value)

    clock, records = FakeClock(), Broken()
    memory = FloodMemory(records, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        for key in ("a", "b"):
            mirror = BucketMirror(ROOM, clock)
            mirror.take()
            mirror.flooded(60.0)
            memory.note(key, mirror.lesson)
            await clock.settle()
            records.broken = False
        tasks.cancel_scope.cancel()
    assert set(records.records) == {"a", "b"}


async def starts(records: MemoryRecords, clock: FakeClock, *, late_s: float = 0.0, calls: int = 4) -> list[float]:
    """A process begins, makes calls in one bucket once `late_s` have passed, and is killed: when they left."""
    memory = FloodMemory(records, clock)
    await memory.open()
    began_at, made = clock.monotonic(), list[float]()

    async def call() -> None:
        made.append(clock.monotonic() - began_at)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        scheduler = EditScheduler(TOTAL, clock, tasks, memory=memory)
        await clock.advance(late_s)
        for _ in range(calls):
            tasks.start_soon(scheduler.make, "room", ROOM, call)
        await clock.advance(6)
        tasks.cancel_scope.cancel()
    return made


async def test_the_very_first_start_finds_full_buckets() -> None:
    assert await starts(MemoryRecords(), FakeClock()) == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=0.05)


async def test_after_a_restart_a_bucket_begins_as_if_it_had_just_been_emptied() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await starts(records, clock, calls=10)
    assert await starts(records, clock, calls=2) == pytest.approx([1.0, 2.0], abs=0.05)


async def test_after_a_restart_a_bucket_has_what_has_run_in_since() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await starts(records, clock, calls=10)
    assert await starts(records, clock, late_s=2.0, calls=3) == pytest.approx([2.0, 2.0, 3.0], abs=0.05)


async def test_a_start_after_a_long_rest_finds_full_buckets() -> None:
    clock, records = FakeClock(), MemoryRecords()
    await starts(records, clock, calls=10)
    await clock.advance(ROOM.burst / ROOM.rate_per_s + CALLS_PROMISED_S)
    assert await starts(records, clock) == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=0.05)


async def test_calls_are_noted_once_a_second_at_most() -> None:
    clock, records = FakeClock(), MemoryRecords()
    memory = FloodMemory(records, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run)
        for _ in range(30):
            memory.called()
            await clock.advance(0.1)
        tasks.cancel_scope.cancel()
    assert [name for name, _ in records.puts] == [LAST_CALLS] * 3


async def test_a_time_of_last_calls_that_cannot_be_read_is_forgotten() -> None:
    clock = FakeClock()
    memory = FloodMemory(MemoryRecords({LAST_CALLS: "yesterday"}), clock)
    await memory.open()
    assert memory.drained_at is None
