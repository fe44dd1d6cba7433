"""`parley run --role bus` and `--role tape`: one service for other programs, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.output.terminal import load_settings, plain_errors, say
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.service import Ready

PORTS = {"bus": 7891, "tape": 7890}
"""The services that have a process of their own, with the port of each."""


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
