"""Service until a signal says to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gateway.cli.output.terminal import say

if TYPE_CHECKING:
    from anyio import CancelScope, Event
    from anyio.streams.memory import MemoryObjectReceiveStream

    from gateway.service import Ready

_INTERRUPTED = 130
_STOPPING_AT_ONCE = "Stopping. Press Ctrl-C again to stop at once."
_STOPPING = "Stopping when the work in progress is finished. A second signal stops it at once."

Serve = Callable[[Callable[["Ready"], None]], Awaitable[None]]
"""Serves until cancelled, and calls what it is given when it is ready."""


def serve_until_stopped(serve: Serve, tell: Callable[[str], None] = say) -> None:
    """Serve until the first SIGINT or SIGTERM, then stop cleanly; a second signal ends the process at once. `tell` says
    so.

    SIGTERM lets work in progress finish, within the time of the settings. SIGINT (Ctrl-C) stops it where it is, and the
    next run continues it.
    """
    import asyncio

    from runtime.execution.frames.loop import FrameLoop

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(_serve(serve, tell))


async def _serve(serve: Serve, tell: Callable[[str], None]) -> None:
    import asyncio

    import anyio

    stopping = anyio.Event()
    drains: list[Callable[[], Awaitable[None]]] = []
    readies: list[Ready] = []

    def stop(number: signal.Signals) -> None:
        if stopping.is_set():
            os._exit(_INTERRUPTED)
        at_once = number is signal.SIGINT
        drains.extend(partial(one.drain, 0.0 if at_once else None) for one in readies)
        stopping.set()
        tell(_STOPPING_AT_ONCE if at_once else _STOPPING)

    def ready(now: Ready) -> None:
        keep_what_exists()
        readies.append(now)
        _announce(now, tell)

    hang_up, hung_up = anyio.create_memory_object_stream[None](1)

    def reload() -> None:
        # Where one is to come already, it reads what is there by then; after the end nothing is read any more.
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError):
            hang_up.send_nowait(None)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, reload)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    from gateway.collection import keep_what_exists

    with hang_up, hung_up:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_reloaded, hung_up, readies)
            tasks.start_soon(_stopped, stopping, drains, tasks.cancel_scope, tell)
            await serve(ready)


async def _stopped(
    stopping: Event,
    drains: Sequence[Callable[[], Awaitable[None]]],
    scope: CancelScope,
    tell: Callable[[str], None],
) -> None:
    """End on request, after everything that people have seen is stored."""
    await stopping.wait()
    for drain in drains:
        await drain()
    tell("Stopped.")
    scope.cancel()


async def _reloaded(hung_up: MemoryObjectReceiveStream[None], readies: Sequence[Ready]) -> None:
    """Reload on SIGHUP, once it serves."""
    async for _ in hung_up:
        for one in readies:
            if one.reload is not None:
                await one.reload()


def _announce(ready: Ready, tell: Callable[[str], None]) -> None:
    tell("Parley is running. Ctrl-C stops it.")
    for line in ready.lines:
        tell(f"  {line}")
