"""`parley run --role standby`: a front that takes in what people write, and agent nodes that may die."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from gateway.assembly.parts import shared_storage
from gateway.observability.logs import LogOptions, Logs
from gateway.observability.masking import Masking
from gateway.service import Ready
from gateway.settings.hidden_keys import own_environment
from gateway.settings.tree import Settings, secrets
from gateway.standby.processes import RoleProcess
from gateway.standby.supervision import Supervised
from runtime.bus import Bus
from runtime.core.clock import SystemClock

FRONT = "front"
_GRACE_S = 15.0
"""What a process may need beyond `nodes.drain_s` to end."""


async def stand_by(
    settings: Settings,
    programs: Sequence[Path],
    options: Mapping[str, Sequence[str]],
    show: Callable[[str], None],
    *,
    on_ready: Callable[[Ready], None],
) -> None:
    """Keep a front and `agents.processes` agent nodes running until cancelled; then none of them is left.

    `options` are further options of `parley run`, by role. `show` gets what they print, with their names, and what
    people should know of their deaths. Raises ConfigError for settings with which they cannot start.
    """
    bus = Bus(SystemClock())
    Logs(LogOptions(settings.logs.level, settings.logs.format), Masking(secrets(settings))).attach(bus)
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(shared_storage(settings, on_event=bus.publish))
        async with anyio.create_task_group() as tasks:
            made = _Standby(settings, programs, options, storage, show, tasks)
            try:
                made.start()
                lines = [f"{'standby':<10} a front and {settings.agents.processes} agent nodes, which are starting"]
                on_ready(Ready(lines, made.drain, made.reload))
                await anyio.sleep_forever()
            finally:
                made.kill()


class _Standby:
    """The processes, by name."""

    def __init__(
        self,
        settings: Settings,
        programs: Sequence[Path],
        options: Mapping[str, Sequence[str]],
        storage: Mapping[str, str],
        show: Callable[[str], None],
        tasks: TaskGroup,
    ) -> None:
        self._within_s = settings.nodes.drain_s
        self._tasks = tasks
        self._agents = [f"agents-{number}" for number in range(1, settings.agents.processes + 1)]
        self._kept = {}
        clock = SystemClock()
        for name in (FRONT, *self._agents):
            role = name.partition("-")[0]
            folder = settings.data_dir / "nodes" / name
            given = ["--role", role, "--data-dir", str(folder), *options.get(role, ()), *map(str, programs)]
            environment = {**own_environment(with_keys=name != FRONT), **storage}
            start = partial(RoleProcess.start, given, environment, _named(name, show), tasks)
            self._kept[name] = Supervised(name, start, clock, show)

    def start(self) -> None:
        """Start all of them."""
        for one in self._kept.values():
            self._tasks.start_soon(one.run)

    async def drain(self, within_s: float | None) -> None:
        """End the agent nodes, then the front, so that pages are served to the end."""
        number = signal.SIGTERM if within_s is None else signal.SIGINT
        limit_s = (self._within_s if within_s is None else within_s) + _GRACE_S
        async with anyio.create_task_group() as ending:
            for name in self._agents:
                ending.start_soon(self._kept[name].end, number, limit_s)
        await self._kept[FRONT].end(number, limit_s)

    async def reload(self) -> None:
        """Have each process read its programs and settings again."""
        for one in self._kept.values():
            one.send(signal.SIGHUP)

    def kill(self) -> None:
        """End at once what still runs."""
        for one in self._kept.values():
            one.kill()


def _named(name: str, show: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: show(f"{name:<10} {line}")
