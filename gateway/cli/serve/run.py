"""`parley run`: the gateway, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from gateway.cli.serve.alone import PORTS, serve_alone
from gateway.cli.serve.standby import serve_standby
from gateway.cli.serve.until_stopped import serve_until_stopped
from gateway.with_parent import end_with_standard_input

if TYPE_CHECKING:
    from gateway.dev.board import DevBoard
    from gateway.observability.debugger.server import DebugAddress
    from gateway.service import Ready
    from gateway.settings.tree import Settings


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
