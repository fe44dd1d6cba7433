"""`parley run --role standby`: a front and agent nodes on this machine, until they are stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.output.terminal import load_settings, plain_errors, say
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.service import Ready


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
