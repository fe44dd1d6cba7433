"""When a process of a standby is started again, and what people read of its deaths."""

import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from gateway.standby.standby import DEATHS, LONGEST_PAUSE_S, Supervised
from runtime.core.errors import ConfigError
from tests.fakes.clock import FakeClock


class Scripted:
    """A process that ends when the test says so. One that is `deaf` minds SIGKILL alone."""

    def __init__(self, *, was_ready: bool = True, deaf: bool = False) -> None:
        self.was_ready = was_ready
        self.sent: list[signal.Signals] = []
        self._deaf = deaf
        self._code = 0
        self._over = anyio.Event()

    async def ended(self) -> int:
        await self._over.wait()
        return self._code

    def dies(self, code: int) -> None:
        self._code = code
        self._over.set()

    def send(self, number: signal.Signals, /) -> None:
        self.sent.append(number)
        if not self._deaf or number is signal.SIGKILL:
            self.dies(-number)


@dataclass
class Stage:
    """A supervised process with the clock that its pauses go by."""

    clock: FakeClock
    ready: bool = True
    deaf: bool = False
    started_at: list[float] = field(default_factory=list)
    runs: list[Scripted] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def supervised(self) -> Supervised:
        return Supervised("agents-1", self._start, self.clock, self.said.append)

    async def _start(self) -> Scripted:
        self.started_at.append(self.clock.monotonic())
        self.runs.append(Scripted(was_ready=self.ready, deaf=self.deaf))
        return self.runs[-1]

    async def deaths(self, count: int, *, after_s: float = 0.0) -> None:
        """Let it die so often, each time so long after it was started."""
        for _ in range(count):
            begun = len(self.runs)
            await self.clock.advance(after_s)
            self.runs[-1].dies(1)
            while len(self.runs) == begun:
                await self.clock.advance(0.25)


@asynccontextmanager
async def running(stage: Stage) -> AsyncIterator[Supervised]:
    made = stage.supervised()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run)
        await stage.clock.settle()
        yield made
        tasks.cancel_scope.cancel()


def pauses(stage: Stage) -> Sequence[float]:
    return [later - earlier for earlier, later in zip(stage.started_at, stage.started_at[1:], strict=False)]


async def test_what_dies_is_started_again_after_pauses_that_double_up_to_a_bound() -> None:
    stage = Stage(FakeClock())
    async with running(stage):
        await stage.deaths(9)
        assert pauses(stage) == [0.5, 1, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S]


async def test_after_a_minute_of_life_pauses_begin_anew() -> None:
    stage = Stage(FakeClock())
    async with running(stage):
        await stage.deaths(3)
        await stage.deaths(1, after_s=60)
        assert pauses(stage)[-1] == 60.5


async def test_from_the_fifth_death_within_a_minute_people_are_told_what_to_do() -> None:
    stage = Stage(FakeClock())
    async with running(stage):
        await stage.deaths(DEATHS + 1)
        assert stage.said[0] == "agents-1 has died (exit code 1). It is started again in 0.5 s."
        assert [number for number, line in enumerate(stage.said, 1) if "`parley check`" in line] == [DEATHS]
        assert "died 5 times within a minute" in stage.said[DEATHS - 1]


async def test_five_deaths_in_more_than_a_minute_are_no_alarm() -> None:
    stage = Stage(FakeClock())
    async with running(stage):
        await stage.deaths(DEATHS, after_s=20)
        assert [line for line in stage.said if "`parley check`" in line] == []


async def test_wrong_settings_end_it_at_the_first_start_and_not_once_it_has_served() -> None:
    async def refused() -> Scripted:
        process = Scripted(was_ready=False)
        process.dies(2)
        return process

    with pytest.raises(ConfigError, match="front cannot start"):
        await Supervised("front", refused, FakeClock(), print).run()
    stage = Stage(FakeClock())
    async with running(stage):
        stage.runs[0].dies(2)
        await stage.clock.advance(1)
        assert len(stage.runs) == 2


async def test_what_is_asked_to_end_is_not_started_again() -> None:
    stage = Stage(FakeClock())
    async with running(stage) as made:
        await made.end(signal.SIGTERM, 5)
        await stage.clock.advance(100)
        assert [one.sent for one in stage.runs] == [[signal.SIGTERM]]
        assert stage.said == []


async def test_what_does_not_end_in_time_is_killed() -> None:
    stage = Stage(FakeClock(), deaf=True)
    async with running(stage) as made:
        await made.end(signal.SIGTERM, 0.01)
        assert stage.runs[0].sent == [signal.SIGTERM, signal.SIGKILL]
