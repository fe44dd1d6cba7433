"""Serving an ASGI application inside the caller's task group, with uvicorn."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from gateway.socket_protocol import SocketProtocol
from gateway.web.connections import ConnectionBounds, Connections
from gateway.web.forwarded import BoundForwarded
from gateway.web.logins.proxied import MarkProxied, Proxies
from gateway.web.patience import PatientConfig
from gateway.web.troubles import Troubles, few_records
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError

MAX_FRAME_BYTES = 2 * 1024 * 1024
"""A WebSocket frame beyond it ends the connection; a too long message below it is refused with a reason."""

_WAITING = 1024
"""The connections that wait in the system to be accepted."""

_ACCEPTED_AT_ONCE = 64
"""Those that are accepted before any of them is counted."""

PING_INTERVAL_S = 20.0
STOP_TIMEOUT_S = 0.45


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What `trusted_proxies`, addresses and networks, say of who asks and by which scheme is believed, nobody else's.
    Without `bounds` there are as many connections as the process can have. `bus` hears of those that were ended.
    """

    trusted_proxies: Sequence[str] = ()
    bus: Bus | None = None
    bounds: ConnectionBounds | None = None


class _Server(uvicorn.Server):
    """Leaves the process's signals alone, and reports when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_WAITING)
        self.up.set()

    def drop_connections(self) -> None:
        """End the connections that are still open."""
        for task in self.server_state.tasks:
            task.cancel()
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()


async def serve(
    app: ASGIApp,
    host: str,
    port: int,
    rules: ServerRules | None = None,
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; then stop within half a second, telling pages to come back (close code 1012).

    Reports the port that it listens on through `task_status`: `port` 0 takes any free one. Raises ConfigError when the
    address cannot be had.
    """
    listener = _listen(host, port)
    rules, seconds = rules or ServerRules(), SystemClock().monotonic
    proxies, bounds = Proxies(rules.trusted_proxies), rules.bounds or ConnectionBounds.of_process()
    believed: Any = app
    if rules.trusted_proxies:
        bounded: Any = BoundForwarded(app, proxies, bounds.per_address)
        believed = ProxyHeadersMiddleware(bounded, list(rules.trusted_proxies))
    config = PatientConfig(
        MarkProxied(believed, proxies),
        Connections(bounds, proxies.__contains__, Troubles(rules.bus, seconds).tell),
        backlog=_ACCEPTED_AT_ONCE,
        ws=SocketProtocol,
        ws_max_size=MAX_FRAME_BYTES,
        ws_per_message_deflate=False,  # it would compress each frame anew for each page, and hold a window for each
        ws_ping_interval=PING_INTERVAL_S,
        ws_ping_timeout=PING_INTERVAL_S,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    server = _Server(config)
    with few_records(seconds):
        await _serve(server, listener, task_status)


async def _serve(server: _Server, listener: socket.socket, task_status: TaskStatus[int]) -> None:
    async with anyio.create_task_group() as tasks:
        stopped = anyio.Event()
        serving = anyio.CancelScope(shield=True)
        tasks.start_soon(_run, server, listener, serving, stopped)
        try:
            await server.up.wait()
            task_status.started(listener.getsockname()[1])
            await stopped.wait()
        finally:
            server.should_exit = True
            with anyio.move_on_after(STOP_TIMEOUT_S, shield=True):
                await stopped.wait()
            serving.cancel()
            server.drop_connections()


async def _run(server: _Server, listener: socket.socket, scope: anyio.CancelScope, stopped: anyio.Event) -> None:
    try:
        with scope:
            await server.serve(sockets=[listener])
    finally:
        stopped.set()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # asyncio sets this only on sockets that were made with TCP's number; without it an answer may wait 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        why = error.strerror if error.errno is None else os.strerror(error.errno)  # Python adds the address to its own
        text = f"web: cannot listen on {host} port {port}: {why}. Choose another with --port or PARLEY_WEB__PORT"
        raise ConfigError(text) from error
