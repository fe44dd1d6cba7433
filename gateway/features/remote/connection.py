"""One connection to an MCP server. The only module that uses the SDK."""

from __future__ import annotations

import logging
import math
import runpy
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, cast
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import httpx2
import mcp_types as mcp
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, ToolsListChanged
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from msgspec import Struct
from pydantic import ValidationError

from gateway.features.remote import transports
from gateway.features.remote.tools import KEY
from runtime.core.errors import ParleyError, RemoteFault, RemoteUnavailable
from runtime.core.plain_text import one_line
from runtime.language.remote import RemoteSpec

MAX_PAGES = 50
_SDK = logging.getLogger("mcp")
"""The SDK's logger, silenced: failures also arrive as errors, and it would log strangers' texts."""
_SDK.addHandler(logging.NullHandler())
_SDK.propagate = False

_US = mcp.Implementation(name="parley", version="1")
NOT_FOUND = 404
"""The answer of a server that no longer knows our session. It has done nothing."""

_SESSION_GONE = "Session terminated"
"""The SDK's text for that, if no other is given."""


class ConnectionWiring(Struct, frozen=True):
    """A connection's needs besides its spec: values of the variables, and who hears what.

    `variables` are those that the spec names, `environment` what every process gets. `progressed` hears how far a call
    is, in the server's words.
    """

    connect_s: float
    environment: Mapping[str, str]
    variables: Mapping[str, str]
    said: transports.Said
    progressed: Callable[[str], None]


class AnswerLost(Struct, frozen=True):
    """The connection ended before an answer came. `sent`: the request may have reached the server."""

    sent: bool
    why: str


class Connection:
    """A server of MCP that answers. `closed` is set when it does no more, `changed` when its tools are others."""

    def __init__(self, client: Client, wiring: ConnectionWiring) -> None:
        self.closed = anyio.Event()
        self.changed = anyio.Event()
        self._client = client
        self._wiring = wiring

    async def tools(self) -> list[mcp.Tool]:
        """All tools of the server. Raises RemoteFault and RemoteUnavailable."""
        with _translated():
            found: list[mcp.Tool] = []
            cursor: str | None = None
            for _ in range(MAX_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    break
            return found

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str) -> mcp.CallToolResult | AnswerLost:
        """Have the server do something once. Raises RemoteFault when it refuses or its answer cannot be read."""
        attempt = transports.RequestAttempt()
        token = transports.ATTEMPT.set(attempt)
        try:
            return await self._client.call_tool(
                tool,
                dict(arguments),
                progress_callback=self._progressed,
                meta=cast("mcp.RequestParamsMeta", {KEY: key}),
            )
        except MCPError as error:
            return self._outcome(error, attempt)
        except (ValidationError, RuntimeError) as error:
            raise RemoteFault(f"it was done, and its answer cannot be read: {one_line(str(error), 300)}") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError) as error:
            self.closed.set()
            return AnswerLost(attempt.sent, str(error) or "the connection ended")
        finally:
            transports.ATTEMPT.reset(token)

    def _outcome(self, error: MCPError, attempt: transports.RequestAttempt) -> AnswerLost:
        why = one_line(error.message, 300)
        if error.message == _SESSION_GONE or (attempt.status == NOT_FOUND and error.code != mcp.METHOD_NOT_FOUND):
            self.closed.set()
            return AnswerLost(sent=False, why="the server was restarted")
        if error.code == mcp.CONNECTION_CLOSED:
            self.closed.set()
            return AnswerLost(attempt.sent, "the connection ended")
        if attempt.status is not None and attempt.status >= 500:
            return AnswerLost(sent=True, why=f"the server answered HTTP {attempt.status}")
        raise RemoteFault(transports.refusal("server", attempt.status, why)) from error

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        of = f"/{total:g}" if total else ""
        self._wiring.progressed(one_line(f"{progress:g}{of} {message or ''}", 200))

    async def heard(self, message: IncomingMessage) -> None:
        """Take a message that the server sends on its own."""
        if isinstance(message, mcp.ToolListChangedNotification):
            self.changed.set()

    async def follow(self) -> None:
        """Subscribe to changes of tools, for servers that tell only subscribers."""
        listing = self._client.server_capabilities.tools
        if listing is None or not listing.list_changed:
            return
        try:
            async with self._client.listen(tools_list_changed=True) as events:
                async for event in events:
                    if isinstance(event, ToolsListChanged):
                        self.changed.set()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return  # then they are asked for at the next connection


@asynccontextmanager
async def open_connection(spec: RemoteSpec, wiring: ConnectionWiring) -> AsyncIterator[Connection]:
    """A connection for as long as it is needed. Raises RemoteUnavailable when none is possible within `connect_s`."""
    handlers: list[Connection] = []

    async def heard(message: IncomingMessage) -> None:
        for connection in handlers:
            await connection.heard(message)

    attempt = transports.RequestAttempt()
    with _translated(attempt), anyio.CancelScope() as limit:
        limit.deadline = anyio.current_time() + wiring.connect_s
        async with AsyncExitStack() as stack:
            transports.ATTEMPT.set(attempt)
            target = await _target(spec, wiring, stack)
            client = Client(target, message_handler=heard, client_info=_US, cache=None)
            await stack.enter_async_context(client)
            limit.deadline = math.inf
            connection = Connection(client, wiring)
            handlers.append(connection)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            tasks.start_soon(connection.follow)
            yield connection
            tasks.cancel_scope.cancel()
    if limit.cancelled_caught:
        raise RemoteUnavailable(f"no answer in {wiring.connect_s:g} s")


async def _target(spec: RemoteSpec, wiring: ConnectionWiring, stack: AsyncExitStack) -> Any:
    if spec.transport == "memory":
        return await anyio.to_thread.run_sync(_load_server, spec)
    if spec.transport == "streamable-http":
        secret = wiring.variables.get(spec.secret) if spec.secret else None
        client = await stack.enter_async_context(transports.http_client(spec.header, secret, wiring.connect_s))
        return streamable_http_client(spec.url, http_client=client, max_sse_event_size=transports.MAX_ANSWER_BYTES)
    environment = {**wiring.environment, **{name: wiring.variables[name] for name in spec.env}}
    start = [spec.command] if spec.command else [sys.executable, str(spec.directory / spec.url)]
    return transports.stdio_streams([*start, *spec.args], spec.directory, environment, wiring.said)


def _load_server(spec: RemoteSpec) -> Any:
    name, _, query = spec.url.removeprefix("memory://").partition("?")
    path = spec.directory / name
    wanted = parse_qs(query).get("var")
    with _unchanged_logging():
        try:
            found = runpy.run_path(str(path), run_name=path.stem)
        except Exception as error:
            raise RemoteUnavailable(f"{path} fails when it is loaded: {error!r}") from error
    if wanted is not None:
        server = found.get(wanted[0])
    else:
        server = next((value for value in found.values() if isinstance(value, Server | MCPServer)), None)
    if not isinstance(server, Server | MCPServer):
        raise RemoteUnavailable(
            f"{path} has no server{f' {wanted[0]!r}' if wanted else ''}; make one with MCPServer(…)"
        )
    return server


@contextmanager
def _unchanged_logging() -> Iterator[None]:
    """Restore our logging with its masked secrets, because a new server sets up the logging of its process."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextmanager
def _translated(attempt: transports.RequestAttempt | None = None) -> Iterator[None]:
    """The SDK's exceptions as our errors; ours and groups of them as the first of them."""
    try:
        yield
    except Exception as raised:  # noqa: BLE001 - whatever a stranger's server makes the SDK raise is that server's trouble
        error = _first(raised)
        if isinstance(error, ParleyError):
            raise error from None
        status = attempt.status if attempt is not None else None
        why = one_line(str(error) or type(error).__name__, 300)
        raise RemoteUnavailable(transports.refusal("server", status, why)) from error


def _first(raised: Exception) -> BaseException:
    error: BaseException = raised
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
