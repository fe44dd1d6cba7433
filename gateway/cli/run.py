"""`parley run`: the gateway, until a signal says to stop."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.assembly.checking import checked, extension_names
from gateway.cli.output.diagnosis import counted
from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, quiet_logs, say

if TYPE_CHECKING:
    from anyio import CancelScope, Event
    from anyio.streams.memory import MemoryObjectReceiveStream

    from gateway.dev.board import DevBoard
    from gateway.service import GatewayReady
    from gateway.settings.tree import Settings

_ORPHANED = 1

_PORTS = {"bus": 7891, "tape": 7890}
"""The services that have a process of their own, with the port of each."""

_INTERRUPTED = 130
_STOPPING_AT_ONCE = "Stopping. Press Ctrl-C again to stop at once."
_STOPPING = "Stopping when the work in progress is finished. A second signal stops it at once."

Serve = Callable[[Callable[["GatewayReady"], None]], Awaitable[None]]
"""Serves until cancelled, and calls what it is given when it is ready."""


def _end_with_standard_input() -> None:
    """End this process at once, like a crash, when its standard input ends: a pipe that its parent holds open."""
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(_ORPHANED)


def _serve_standby(
    program: Sequence[Path], config: Path | None, model: str | None, host: str | None, port: int | None
) -> None:
    with plain_errors():
        settings = load_settings(config, {"model": model, "web.host": host, "web.port": port})
        _look_first(program, (settings.web.host, settings.web.port))
        both = [*_option("--config", config), *_option("--model", model), *_option("--host", host)]
        options = {"front": [*both, *_option("--port", port)], "agents": [*both, "--port", "0"]}

        async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
            from gateway.standby.standby import stand_by

            await stand_by(settings, program, options, say, on_ready=on_ready)

        serve_until_stopped(serve)


def _program_files(given: Sequence[Path]) -> list[Path]:
    """The files, that of a folder with one program in its place."""
    if not given:
        return []
    from runtime.language.syntax.source import program_in

    return [program_in(path) for path in given]


def _look_first(files: Sequence[Path], place: tuple[str, int] | None = None, role: str = "") -> None:
    """Raise ProgramError for a file that cannot be read, and ConfigError for a `place` of somebody else: before the
    imports and the database, which take seconds."""
    if files:
        from runtime.language.syntax.source import read_paths

        read_paths(files)
    if place is not None:
        from gateway.web.server import listen

        listen(*place, role).close()


def _tell_errors(settings: Settings, files: Sequence[Path]) -> None:
    """Say what cannot work in the programs, which start nevertheless: the rest of them may."""
    from gateway.programs.loading import routes_of

    for program in routes_of(settings, files).files.values():
        found, result = checked(program, extension_names(settings))
        errors = [one for one in found if result is not None and one.severity == "error"]
        for one in errors:
            say(one.render())
        if errors:
            say(f"{program[0]} has {counted(len(errors), 'error')}. It is served, but these steps cannot run.")


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else [name, str(value)]


def _serve_alone(role: str, program: Sequence[Path], config: Path | None, host: str | None, port: int | None) -> None:
    """Serve /bus/v1 or /tape/v1 and nothing else, beside gateways with the same settings."""
    with plain_errors():
        settings = load_settings(config)
        place = host or "127.0.0.1", _PORTS[role] if port is None else port
        _look_first(program, place, role)

        async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
            from gateway.assembly.doors import serve_bus, serve_tapes
            from gateway.assembly.probes import reach_database

            await reach_database(settings, say)
            if role == "bus":
                await serve_bus(settings, program, *place, on_ready=on_ready)
            else:
                await serve_tapes(settings, *place, on_ready=on_ready)

        serve_until_stopped(serve)


def run(  # noqa: PLR0913 - options of a command
    program: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A program: its files (.pb, .pbasm) or folder. Default: the settings' routes, else the tour."
        ),
    ] = None,
    config: ConfigOption = None,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
    host: Annotated[str | None, typer.Option(help="Address of the web chat.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the web chat; 0 takes any free one.")] = None,
    role: Annotated[
        Literal["all", "front", "agents", "standby", "bus", "tape"] | None,
        typer.Option(help="What this process does; standby is a front with agent nodes. [default: all]"),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Let an editor on this machine debug.")] = False,
    debug_address: Annotated[
        str | None, typer.Option(help="Where the editor attaches, HOST:PORT on this machine. [default: 127.0.0.1:7529]")
    ] = None,
    stop_on_entry: Annotated[
        bool, typer.Option("--stop-on-entry", help="Wait for the editor; each session stops at its first playbook.")
    ] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Start the gateway and print its address. Ctrl-C stops it."""
    if with_parent:  # in a thread, so that also a busy or hanging loop ends
        threading.Thread(target=_end_with_standard_input, name="parent", daemon=True).start()
    files = _program_files(program or [])
    if role in _PORTS:
        _serve_alone(role, files, config, host, port)
        return
    if role == "standby":
        _serve_standby(files, config, model, host, port)
        return
    with plain_errors():
        flags = {"model": model, "web.host": host, "web.port": port, "nodes.role": role}
        settings = load_settings(config, flags)
        if sys.stderr.isatty():
            flags |= quiet_logs(settings)
            settings = load_settings(config, flags)
        _look_first(files)
        if role != "front":
            _tell_errors(settings, files)
        debugging = None
        if debug or debug_address is not None or stop_on_entry:
            from gateway.observability.debugger.server import DEFAULT_ADDRESS, DebugAddress

            debugging = DebugAddress.read(debug_address or DEFAULT_ADDRESS, waits=stop_on_entry)

        async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
            from gateway.assembly.app import serve as serve_gateway
            from gateway.assembly.probes import reach_database

            def read() -> Settings:
                return load_settings(config, flags)

            await reach_database(settings, say)
            board = _tour_board(settings, files) if debugging is None else None
            await serve_gateway(settings, files, on_ready=on_ready, debug=debugging, read=read, board=board)

        serve_until_stopped(serve)


def _tour_board(settings: Settings, files: Sequence[Path]) -> DevBoard | None:
    """The board beside the chat, where the tour is given to people at this machine alone."""
    from gateway.packaged import packaged
    from gateway.programs.loading import routes_of

    tour = [[packaged("examples/tour.pb").resolve()]]
    given = [[file.resolve() for file in program] for program in routes_of(settings, files).files.values()]
    if given != tour or not settings.web.for_this_machine or settings.nodes.role != "all":
        return None
    from gateway.dev.board import DevBoard
    from gateway.dev.folder import made

    return DevBoard(lambda *_: ((), None), say, made)


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
    readies: list[GatewayReady] = []

    def stop(number: signal.Signals) -> None:
        if stopping.is_set():
            os._exit(_INTERRUPTED)
        at_once = number is signal.SIGINT
        drains.extend(partial(one.drain, 0.0 if at_once else None) for one in readies)
        stopping.set()
        tell(_STOPPING_AT_ONCE if at_once else _STOPPING)

    def ready(now: GatewayReady) -> None:
        gc.freeze()  # what exists now, such as modules and settings, is never looked through for garbage
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


async def _reloaded(hung_up: MemoryObjectReceiveStream[None], readies: Sequence[GatewayReady]) -> None:
    """Reload on SIGHUP, once it serves."""
    async for _ in hung_up:
        for one in readies:
            if one.reload is not None:
                await one.reload()


def _announce(ready: GatewayReady, tell: Callable[[str], None]) -> None:
    tell("Parley is running. Ctrl-C stops it.")
    for line in ready.lines:
        tell(f"  {line}")
