"""One process that is started again whenever it dies, after pauses that grow."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from runtime.core.clock import Clock
from runtime.core.errors import ConfigError

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
"""The time after which a process has recovered: what it died of before no longer counts."""

DEATHS = 5
"""The number of deaths within a minute from which people are told what to do."""

_BAD_SETTINGS = 2
"""The exit code of a process whose settings or programs are wrong."""


class Running(Protocol):
    """A process that was started."""

    @property
    def was_ready(self) -> bool:
        """Whether it has ever served."""
        ...

    async def ended(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        ...

    def send(self, number: signal.Signals, /) -> None:
        """Send it a signal, unless it has ended."""
        ...


class Supervised:
    """Keeps one process running. `say` tells people of its deaths."""

    def __init__(self, name: str, start: Callable[[], Awaitable[Running]], clock: Clock, say: Callable[[str], None]):
        self.name = name
        self._start = start
        self._clock = clock
        self._say = say
        self._process: Running | None = None
        self._stopping = anyio.Event()
        self._over = anyio.Event()

    async def run(self) -> None:
        """Start it, again and again, until it is asked to end. Raises ConfigError if its settings are wrong."""
        deaths, in_a_row, served = deque[float](maxlen=DEATHS), 0, False
        try:
            while not self._stopping.is_set():
                began_s = self._clock.monotonic()
                self._process = process = await self._start()
                code = await process.ended()
                self._process = None
                if self._stopping.is_set():
                    return
                served = served or process.was_ready
                if code == _BAD_SETTINGS and not served:
                    raise ConfigError(f"{self.name} cannot start, for the reason above.")
                now = self._clock.monotonic()
                in_a_row = 1 if now - began_s >= STEADY_S else in_a_row + 1
                deaths.append(now)
                pause_s = min(FIRST_PAUSE_S * 2 ** (in_a_row - 1), LONGEST_PAUSE_S)
                often = in_a_row == DEATHS and now - deaths[0] < STEADY_S
                self._say(_obituary(self.name, code, pause_s, often=often))
                await self._clock.sleep_until(now + pause_s)
        finally:
            self._over.set()

    async def end(self, number: signal.Signals, within_s: float) -> None:
        """Ask it to end, and wait. What has not ended in time is killed."""
        self._stopping.set()
        if self._process is None:
            return
        self._process.send(number)
        with anyio.move_on_after(within_s):
            await self._over.wait()
        self.kill()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None:
            self._process.send(number)

    def kill(self) -> None:
        """End it at once, like a crash."""
        self._stopping.set()
        if self._process is not None:
            self._process.send(signal.SIGKILL)


def _obituary(name: str, code: int, pause_s: float, *, often: bool) -> str:
    why = f"signal {-code}" if code < 0 else f"exit code {code}"
    if not often:
        return f"{name} has died ({why}). It is started again in {pause_s:g} s."
    return (
        f"{name} has died {DEATHS} times within a minute, the last time with {why}. Its lines above say why; `parley "
        f"check` tries every part. It is started again in {pause_s:g} s, and then after longer pauses."
    )
