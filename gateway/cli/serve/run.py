"""`parley run`: the gateway, until it is stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.dev.board import DevBoard
    from gateway.observability.debugger.server import DebugAddress
    from gateway.service import Ready
    from gateway.settings.tree import Settings


_ORPHANED = 1

PORTS = {"bus": 7891, "tape": 7890}
"""The services that have a process of their own, with the port of each."""


def end_with_standard_input() -> None:
    """End this process at once, like a crash, when its standard input ends: a pipe that its parent holds open.

    A thread reads it, so that also a busy or hanging loop ends.
    """
    threading.Thread(target=_until_the_end, name="parent", daemon=True).start()


def _until_the_end() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(_ORPHANED)


def serve_standby(
    program: Sequence[Path], config: Path | None, model: str | None, host: str | None, port: int | None
) -> None:
    """Start a front and agent nodes, and restart any that die."""
    with plain_errors():
        settings = load_settings(config, {"model": model, "web.host": host, "web.port": port})
        both = [*_option("--config", config), *_option("--model", model), *_option("--host", host)]
        options = {"front": [*both, *_option("--port", port)], "agents": [*both, "--port", "0"]}

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.standby.standby import stand_by

            await stand_by(settings, program, options, say, on_ready=on_ready)

        serve_until_stopped(serve)


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else [name, str(value)]


def serve_alone(role: str, program: Sequence[Path], config: Path | None, host: str | None, port: int | None) -> None:
    """Serve /bus/v1 or /tape/v1 and nothing else, beside gateways with the same settings."""
    with plain_errors():
        settings = load_settings(config)
        place = host or "127.0.0.1", PORTS[role] if port is None else port

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.assembly.alone import serve_bus, serve_tapes
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
        typer.Argument(help="Files (.pb, .pbasm) of one program. Default: the routes of the settings, else the tour."),
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
    if with_parent:
        end_with_standard_input()
    if role in PORTS:
        serve_alone(role, program or [], config, host, port)
        return
    if role == "standby":
        serve_standby(program or [], config, model, host, port)
        return
    with plain_errors():
        flags = {"model": model, "web.host": host, "web.port": port, "nodes.role": role}
        settings = load_settings(config, flags)
        wanted = debug or debug_address is not None or stop_on_entry
        debugging = _debugging(debug_address, stop_on_entry) if wanted else None

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.assembly.app import serve as serve_gateway
            from gateway.assembly.probes import reach_database

            def read() -> Settings:
                return load_settings(config, flags)

            await reach_database(settings, say)
            board = _tour_board(settings, program or []) if debugging is None else None
            await serve_gateway(settings, program or [], on_ready=on_ready, debug=debugging, read=read, board=board)

        serve_until_stopped(serve)


def _debugging(address: str | None, stop_on_entry: bool) -> DebugAddress:
    from gateway.observability.debugger.server import DEFAULT_ADDRESS, DebugAddress

    return DebugAddress.read(address or DEFAULT_ADDRESS, waits=stop_on_entry)


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
