"""An event loop whose time jumps to the next timer when nothing can run: hours of simulation in seconds, exactly."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from runtime.execution.frames.loop import FrameLoop

T = TypeVar("T")

_START = datetime(2026, 1, 1, tzinfo=UTC)


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting, lets time pass."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits and no timer is set: the simulation is stuck")
        self.passed_s += max(0.0, timeout)
        return super().select(0)


class _VirtualLoop(FrameLoop):
    def __init__(self) -> None:
        self.selector = _JumpingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.passed_s


class LoopClock:
    """The running loop's time as a `Clock`."""

    def now(self) -> datetime:
        return _START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await asyncio.sleep(max(0.0, monotonic_s - self.monotonic()))


def run_virtually(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in virtual time from 0."""

    async def run() -> T:
        return await work()

    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(run())
