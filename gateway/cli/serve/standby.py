"""`parley standby`: a front and agent nodes on this machine, until they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.service import Ready


def standby(
    program: Annotated[list[Path] | None, typer.Argument(help="Files of one program, as for `parley run`.")] = None,
    config: ConfigOption = None,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
    host: Annotated[str | None, typer.Option(help="Address of the web chat.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the web chat; 0 takes any free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder that keeps the state.")] = None,
) -> None:
    """Start a front and agent nodes, and restart any that die. Ctrl-C stops all of them."""
    with plain_errors():
        settings = load_settings(config, {"model": model, "web.host": host, "web.port": port, "data_dir": data_dir})
        both = [*_option("--config", config), *_option("--model", model), *_option("--host", host)]
        options = {"front": [*both, *_option("--port", port)], "agents": [*both, "--port", "0"]}

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.standby.standby import stand_by

            await stand_by(settings, program or [], options, say, on_ready=on_ready)

        serve_until_stopped(serve)


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else [name, str(value)]
