"""`parley tape`: the tapes for other programs, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.service import Ready

PORT = 7890


def tape(
    config: ConfigOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = PORT,
    data_dir: Annotated[Path | None, typer.Option(help="The folder that keeps the state of the gateway.")] = None,
) -> None:
    """Serve only /tape/v1, beside gateways with the same settings. Ctrl-C stops it."""
    with plain_errors():
        settings = load_settings(config, {"data_dir": data_dir})

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.assembly.alone import serve_tapes
            from gateway.assembly.probes import reach_database

            await reach_database(settings, say)
            await serve_tapes(settings, host, port, on_ready=on_ready)

        serve_until_stopped(serve)
