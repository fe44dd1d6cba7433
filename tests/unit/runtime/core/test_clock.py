"""Times of the calendar, which may be set to another time while they are waited for."""

from __future__ import annotations

import anyio
import pytest

from runtime.core.clock import until
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


async def waiting(clock: FakeClock, seconds: float, over: anyio.Event) -> None:
    await until(clock, clock.now().timestamp() + seconds, at_most_s=seconds)
    over.set()


async def test_a_time_comes_when_the_calendar_says_so() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 100, over)
        await clock.advance(99)
        assert not over.is_set()
        await clock.advance(1)
        assert over.is_set()


async def test_a_time_comes_early_when_the_calendar_is_put_on() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 1000, over)
        await clock.advance(1)
        clock.set_calendar(86_400)
        await clock.advance(60)
        assert over.is_set()


async def test_a_time_does_not_come_later_when_the_calendar_is_put_back() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 100, over)
        await clock.advance(50)
        clock.set_calendar(-86_400)
        await clock.advance(49)
        assert not over.is_set()
        await clock.advance(1)
        assert over.is_set()
