"""What the server wrote is put onto the disk once a second, and only what has changed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from runtime.events.happening import unheard
from runtime.storage.embedded.valkey import FLUSH_EVERY_S, keep_flushed
from tests.fakes.clock import FakeClock


class Disk:
    """Stands for fsync: which files were flushed, and whether the disk refuses."""

    def __init__(self) -> None:
        self.flushed: list[str] = []
        self.broken = False

    def fsync(self, handle: int) -> None:
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.flushed.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    @contextmanager
    def during(self) -> Iterator[list[str]]:
        """What is flushed in the block."""
        found: list[str] = []
        self.flushed = found
        yield found


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(os, "fsync", made.fsync)
    return made


async def second(clock: FakeClock) -> None:
    """Let a second pass and what comes of it be done."""
    while not clock.sleeping:
        await anyio.lowlevel.checkpoint()
    await clock.advance(FLUSH_EVERY_S)
    while not clock.sleeping:
        await anyio.lowlevel.checkpoint()


async def test_each_second_what_was_written_is_flushed_and_nothing_when_nothing_was(tmp_path: Path, disk: Disk) -> None:
    clock = FakeClock()
    incremental = tmp_path / "appendonly.aof.1.incr.aof"
    incremental.write_text("a")
    (tmp_path / "appendonly.aof.manifest").write_text("no data")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_flushed, tmp_path, clock, unheard)
        with disk.during() as flushed:
            await second(clock)
            assert flushed == [incremental.name]
        with disk.during() as flushed:
            await second(clock)
            assert flushed == []
        incremental.write_text("ab")
        (tmp_path / "appendonly.aof.2.incr.aof").write_text("c")
        with disk.during() as flushed:
            await second(clock)
            assert sorted(flushed) == [incremental.name, "appendonly.aof.2.incr.aof"]
        tasks.cancel_scope.cancel()


async def test_a_disk_that_refuses_is_told_once_and_what_it_refused_is_flushed_when_it_takes_it(
    tmp_path: Path, disk: Disk
) -> None:
    clock = FakeClock()
    told: list[tuple[str, object]] = []
    (tmp_path / "appendonly.aof.1.incr.aof").write_text("a")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_flushed, tmp_path, clock, lambda what: told.append((what.name, what.data()["reason"])))
        disk.broken = True
        await second(clock)
        await second(clock)
        assert [name for name, _ in told] == ["storage.doubted"]
        assert "Input/output error" in str(told[0][1])
        disk.broken = False
        with disk.during() as flushed:
            await second(clock)
            assert flushed == ["appendonly.aof.1.incr.aof"]
        tasks.cancel_scope.cancel()


async def test_before_there_is_anything_nothing_is_flushed(tmp_path: Path, disk: Disk) -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_flushed, tmp_path / "not yet", clock, unheard)
        await second(clock)
        assert disk.flushed == []
        tasks.cancel_scope.cancel()
