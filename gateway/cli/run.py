"""`parley run`: the gateway, until it is stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say

if TYPE_CHECKING:
    from anyio import CancelScope, Event

    from gateway.observability.debugger.server import DebugAddress
    from gateway.service import Ready
    from gateway.settings.tree import Settings

_INTERRUPTED = 130
_STOPPING_AT_ONCE = "Stopping. Press Ctrl-C again to stop at once."
_STOPPING = "Stopping when the work in progress is finished. A second signal stops it at once."


def run(  # noqa: PLR0913 - options of a command
    program: Annotated[
        list[Path] | None,
        typer.Argument(help="Files (.pb, .pbasm) of one program. Default: the routes of the settings, else the tour."),
    ] = None,
    config: ConfigOption = None,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
    host: Annotated[str | None, typer.Option(help="Address of the web chat.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the web chat; 0 takes any free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder that keeps the state.")] = None,
    role: Annotated[str | None, typer.Option(help="What it does: all, front or agents. [default: all]")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Let an editor on this machine debug.")] = False,
    debug_address: Annotated[
        str | None, typer.Option(help="Where the editor attaches, HOST:PORT on this machine. [default: 127.0.0.1:7529]")
    ] = None,
    stop_on_entry: Annotated[
        bool, typer.Option("--stop-on-entry", help="Wait for the editor; each session stops at its first playbook.")
    ] = False,
) -> None:
    """Start the gateway and say where to go; Ctrl-C stops it."""
    with plain_errors():
        flags = {"model": model, "web.host": host, "web.port": port, "data_dir": data_dir, "nodes.role": role}
        settings = load_settings(config, flags)
        wanted = debug or debug_address is not None or stop_on_entry
        _serve_until_stopped(settings, program or [], _debugging(debug_address, stop_on_entry) if wanted else None)


def _debugging(address: str | None, stop_on_entry: bool) -> DebugAddress:
    from gateway.observability.debugger.server import DEFAULT_ADDRESS, DebugAddress

    return DebugAddress.read(address or DEFAULT_ADDRESS, waits=stop_on_entry)


def _serve_until_stopped(settings: Settings, programs: Sequence[Path], debug: DebugAddress | None) -> None:
    import asyncio

    from runtime.execution.frames.loop import FrameLoop

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(_serve(settings, programs, debug))


async def _serve(settings: Settings, programs: Sequence[Path], debug: DebugAddress | None) -> None:
    """Serve until the first SIGINT or SIGTERM, then stop cleanly; a second signal ends the process at once.

    SIGTERM lets work in progress finish, within the time of the settings. SIGINT (Ctrl-C) stops it where it is, and the
    next run continues it.
    """
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
        say(_STOPPING_AT_ONCE if at_once else _STOPPING)

    def ready(now: Ready) -> None:
        collect_rarely()
        readies.append(now)
        _announce(now)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    from gateway.app import serve
    from gateway.collection import collect_rarely

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stopped, stopping, drains, tasks.cancel_scope)
        await serve(settings, programs, on_ready=ready, debug=debug)


async def _stopped(stopping: Event, drains: Sequence[Callable[[], Awaitable[None]]], scope: CancelScope) -> None:
    """End the gateway on request, after everything that people have seen is stored."""
    await stopping.wait()
    for drain in drains:
        await drain()
    say("Stopped.")
    scope.cancel()


def _announce(ready: Ready) -> None:
    say("Parley is running. Ctrl-C stops it.")
    say(f"  {ready.port:<10} {ready.url}")
    for line in ready.lines:
        say(f"  {line}")
