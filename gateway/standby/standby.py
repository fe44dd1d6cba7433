"""`parley run --role standby`: a front that takes in what people write, and agent nodes that may die."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import Process, TaskGroup
from anyio.streams.text import TextReceiveStream

from gateway.assembly.parts import shared_storage
from gateway.observability.logs import LogWriter
from gateway.observability.watching import SecretMasking
from gateway.service import GatewayReady
from gateway.settings.hidden_keys import own_environment
from gateway.settings.tree import Settings, secrets
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
"""The time after which a process has recovered: what it died of before no longer counts."""

DEATHS = 5
"""The number of deaths within a minute from which people are told what to do."""

_BAD_SETTINGS = 2
"""The exit code of a process whose settings or programs are wrong."""

_READY = "Parley is running"
"""The beginning of the line that says that a process serves."""

_LINE_CHARS = 10_000

FRONT = "front"
_GRACE_S = 15.0
"""What a process may need beyond `nodes.drain_s` to end."""


class Running(Protocol):
    """A process that was started."""

    @property
    def was_ready(self) -> bool:
        """Whether it has ever served."""

    async def ended(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""

    def send(self, number: signal.Signals, /) -> None:
        """Send it a signal, unless it has ended."""


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


class RoleProcess:
    """`parley run` as a process with its own session, so that a terminal's Ctrl-C reaches the standby alone.

    Its standard input is a pipe of ours, with whose end it ends. What it prints goes to `show`, line by line; its log
    goes where ours does.
    """

    def __init__(self, process: Process, show: Callable[[str], None], tasks: TaskGroup) -> None:
        self._process = process
        self._show = show
        self.was_ready = False
        tasks.start_soon(self._read)

    @classmethod
    async def start(
        cls, options: Sequence[str], environment: Mapping[str, str], show: Callable[[str], None], tasks: TaskGroup
    ) -> RoleProcess:
        """Start it; what it prints is read in `tasks`."""
        command = [sys.executable, "-m", "gateway", "run", "--with-parent", *options]
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env=environment,
            start_new_session=True,
        )
        return cls(process, show, tasks)

    async def ended(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        return await self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        rest = ""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for piece in TextReceiveStream(self._process.stdout, errors="replace"):
                *lines, rest = (rest + piece).split("\n")
                rest = rest[-_LINE_CHARS:]
                for line in lines:
                    self.was_ready = self.was_ready or line.startswith(_READY)
                    self._show(line)


async def stand_by(
    settings: Settings,
    programs: Sequence[Path],
    options: Mapping[str, Sequence[str]],
    show: Callable[[str], None],
    *,
    on_ready: Callable[[GatewayReady], None],
) -> None:
    """Keep a front and `agents.processes` agent nodes running until cancelled; then none of them is left.

    `options` are further options of `parley run`, by role. `show` gets what they print, with their names, and what
    people should know of their deaths. Raises ConfigError for settings with which they cannot start.
    """
    bus = Bus(SystemClock())
    LogWriter(settings.logs, SecretMasking(secrets(settings))).attach(bus)
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(shared_storage(settings, on_event=bus.publish))
        async with anyio.create_task_group() as tasks:
            kept: dict[str, Supervised] = {}
            agents = [f"agents-{number}" for number in range(1, settings.agents.processes + 1)]
            for name in (FRONT, *agents):
                role, folder = name.partition("-")[0], settings.data_dir / "nodes" / name
                given = ["--role", role, "--data-dir", str(folder), *options.get(role, ()), *map(str, programs)]
                environment = {**own_environment(with_keys=name != FRONT), **storage}
                start = partial(RoleProcess.start, given, environment, _named(name, show), tasks)
                kept[name] = Supervised(name, start, SystemClock(), show)

            async def drain(within_s: float | None) -> None:
                """End the agent nodes, then the front, so that pages are served to the end."""
                number = signal.SIGTERM if within_s is None else signal.SIGINT
                limit_s = (settings.nodes.drain_s if within_s is None else within_s) + _GRACE_S
                async with anyio.create_task_group() as ending:
                    for name in agents:
                        ending.start_soon(kept[name].end, number, limit_s)
                await kept[FRONT].end(number, limit_s)

            async def reload() -> None:
                for one in kept.values():
                    one.send(signal.SIGHUP)

            try:
                for one in kept.values():
                    tasks.start_soon(one.run)
                lines = [f"{'standby':<10} a front and {settings.agents.processes} agent nodes, which are starting"]
                on_ready(GatewayReady(lines, drain, reload))
                await anyio.sleep_forever()
            finally:
                for one in kept.values():
                    one.kill()


def _named(name: str, show: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: show(f"{name:<10} {line}")
