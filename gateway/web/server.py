"""Serving an ASGI application inside the caller's task group, with uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any

import anyio
import uvicorn
from anyio.abc import TaskStatus
from msgspec import Struct
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from gateway.socket_protocol import SocketProtocol
from gateway.web.connections import ConnectionBounds, Connections, PatientConfig, Trouble
from gateway.web.logins.team_logins import FROM_PROXY, MarkProxied, TrustedProxies
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.events.service import ConnectionsEnded

QUIET_S = 60.0
"""The time between two lines of a kind."""

_LOGGERS = ("asyncio", "uvicorn.error")

_LATER = 1013
"""The code with which a WebSocket is closed that may be opened later."""

MAX_FRAME_BYTES = 2 * 1024 * 1024
"""A WebSocket frame beyond it ends the connection; a too long message below it is refused with a reason."""

_WAITING = 1024
"""The connections that wait in the system to be accepted."""

_ACCEPTED_AT_ONCE = 64
"""Those that are accepted before any of them is counted."""

PING_INTERVAL_S = 20.0
STOP_TIMEOUT_S = 0.45


class Rarely:
    """Says of each kind of thing whether a line about it is due, and how many there were since the last one."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._due_s: dict[Hashable, float] = {}
        self._count: Counter[Hashable] = Counter()

    def due(self, kind: Hashable) -> int:
        """Count one more; how many there were if a line is due, else 0."""
        self._count[kind] += 1
        now_s = self._seconds()
        if now_s < self._due_s.get(kind, now_s):
            return 0
        self._due_s[kind] = now_s + QUIET_S
        return self._count.pop(kind)


class Troubles:
    def __init__(self, bus: Bus | None, seconds: Callable[[], float]) -> None:
        self._bus = bus
        self._rarely = Rarely(seconds)

    def tell(self, trouble: Trouble, address: str) -> None:
        count = self._rarely.due(trouble)
        if count and self._bus is not None:
            self._bus.publish(ConnectionsEnded(trouble, count, address))


class _FewRecords(logging.Filter):
    """Lets one record of a kind pass: of the same remark, or of a failure at the same line. What was ended is none."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._rarely = Rarely(seconds)

    def filter(self, record: logging.LogRecord) -> bool:
        ended = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
        return not ended and self._rarely.due(_kind_of(record)) > 0


def _kind_of(record: logging.LogRecord) -> Hashable:
    error = record.exc_info[1] if record.exc_info else None
    at = None if error is None else error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = None if at is None else (at.tb_frame.f_code.co_filename, at.tb_lineno)
    return str(record.msg).partition("\n")[0], type(error).__name__, place


@contextlib.contextmanager
def few_records(seconds: Callable[[], float]) -> Generator[None, None, None]:
    """Keep the remarks of the server and of its event loop few: what strangers send must not fill a disk."""
    few = _FewRecords(seconds)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(few)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(few)


class BoundForwarded:
    """ASGI middleware: of the requests and WebSockets that a proxy forwards for one address, so many are open at once.

    Where a proxy does not say for whom it asks, nobody is bound.
    """

    def __init__(self, app: ASGIApp, proxies: TrustedProxies, bound: int) -> None:
        self._app = app
        self._proxies = proxies
        self._bound = bound
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if not scope.get(FROM_PROXY) or client is None or client[0] in self._proxies:
            await self._app(scope, receive, send)
            return
        address: str = client[0]
        if self._open[address] >= self._bound:
            await _refuse(scope, receive, send)
            return
        self._open[address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _LATER, "reason": "too many connections"})
        return
    text = "Too many requests of your address are open. Try again."
    await JSONResponse({"error": text}, 503, {"retry-after": "5"})(scope, receive, send)


class ServerRules(Struct, frozen=True):
    """What `trusted_proxies`, addresses and networks, say of who asks and by which scheme is believed, nobody else's.
    Without `bounds` there are as many connections as the process can have. `bus` hears of those that were ended. `role`
    is the service that is served in place of the web chat.
    """

    trusted_proxies: Sequence[str] = ()
    bus: Bus | None = None
    bounds: ConnectionBounds | None = None
    role: str = ""


class _Server(uvicorn.Server):
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

    async def drop_connections(self) -> None:
        """End the connections that are still open, and what answers them."""
        answering = list(self.server_state.tasks)
        for task in answering:
            task.cancel()
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        if answering:
            await asyncio.wait(answering, timeout=STOP_TIMEOUT_S)


async def serve(
    app: ASGIApp,
    host: str,
    port: int,
    rules: ServerRules | None = None,
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; then stop within a second, telling pages to come back (close code 1012).

    Reports the port that it listens on through `task_status`: `port` 0 takes any free one. Raises ConfigError when the
    address cannot be had.
    """
    rules, seconds = rules or ServerRules(), SystemClock().monotonic
    listener = listen(host, port, rules.role)
    proxies, bounds = TrustedProxies(rules.trusted_proxies), rules.bounds or ConnectionBounds.of_process()
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
            with anyio.CancelScope(shield=True):
                await server.drop_connections()


async def _run(server: _Server, listener: socket.socket, scope: anyio.CancelScope, stopped: anyio.Event) -> None:
    try:
        with scope:
            await server.serve(sockets=[listener])
    finally:
        stopped.set()


def listen(host: str, port: int, role: str = "") -> socket.socket:
    """A socket that accepts connections there. Raises ConfigError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # asyncio sets this only on sockets that were made with TCP's number; without it an answer may wait 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        why = error.strerror if error.errno is None else os.strerror(error.errno)  # Python adds the address to its own
        text = f"cannot listen on {host} port {port}: {why}. Choose another with --port"
        raise ConfigError(f"{role}: {text}" if role else f"web: {text} or PARLEY_WEB__PORT") from error
