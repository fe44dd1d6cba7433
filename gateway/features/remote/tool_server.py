"""The server of a remote agent, connected on demand and again after a lost connection."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import mcp_types as mcp
from msgspec import Struct, field

from gateway.features.remote.connection import AnswerLost, Connection, ConnectionWiring, open_connection
from gateway.features.remote.tools import remote_tools, wraps
from runtime.bus import Bus
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.core.errors import OutcomeUnknown, RemoteError, RemoteFault, RemoteTimeout, RemoteUnavailable, ToolFailed
from runtime.core.plain_text import one_line, plain
from runtime.events import sessions as happened
from runtime.execution.calls.remote import RemoteTool
from runtime.language.program import AgentSpec
from runtime.language.remote import RemoteSpec

if TYPE_CHECKING:
    from gateway.features.remote.a2a.connection import AgentConnection

ToolServer: TypeAlias = "Connection | AgentConnection"
"""A server that answers."""

MAX_ERROR_CHARS = 500
MAX_DEPTH = 40
MAX_BITS = 1_000
"""A whole number with more of them is left out."""

MAX_TRIES = 3
"""The most attempts at a repeatable call, over new connections."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
"""Between two attempts to connect; each pause is twice the one before."""

MASK = "********"
SHORTEST_SECRET = 6
ANY_COMMAND = "*"
PYTHON = "python"
"""The name, in the settings, of the Python that runs a program's own server."""


def value_of(result: mcp.CallToolResult, output_schema: Mapping[str, Any] | None, max_chars: int) -> Any:
    """The structured value if there is one of acceptable length, else the text.

    A server's wrapper {"result": …} is removed. A text longer than `max_chars` is cut and says so.
    """
    value = result.structured_content
    if value is not None:
        if wraps(output_schema) is not None and isinstance(value, dict) and list(value) == ["result"]:
            value = value["result"]
        value = _plain_data(value, 0)
        if len(json.dumps(value, ensure_ascii=False, default=str)) <= max_chars:
            return value
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        return _cut(value, max_chars)
    return text_of(result, max_chars)


def text_of(result: mcp.CallToolResult, max_chars: int) -> str:
    return _cut("\n".join(part for block in result.content for part in _parts(block)), max_chars)


def error_of(result: mcp.CallToolResult) -> str:
    return one_line(text_of(result, 4 * MAX_ERROR_CHARS), MAX_ERROR_CHARS) or "it does not say why"


def _parts(block: mcp.ContentBlock) -> Iterator[str]:
    match block:
        case mcp.TextContent(text=text) | mcp.EmbeddedResource(resource=mcp.TextResourceContents(text=text)):
            yield plain(text)
        case mcp.ImageContent() | mcp.AudioContent():
            yield _left_out(block.mime_type, block.data)
        case mcp.EmbeddedResource(resource=mcp.BlobResourceContents() as resource):
            yield _left_out(resource.mime_type or "a file", resource.blob)
        case mcp.ResourceLink():
            yield f"[{one_line(block.name, 100)}: {one_line(str(block.uri), 300)}]"


def _left_out(kind: str, encoded: str) -> str:
    size = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"[{one_line(kind, 60)}, {size:,} bytes, left out]"


def _cut(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text):,} characters in all, cut at {max_chars:,})"


def _plain_data(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return plain(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {plain(str(key)): _plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_data(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return "…" if isinstance(value, int) and value.bit_length() > MAX_BITS else value


class RemoteOptions(Struct, frozen=True):
    """The operator's settings. `commands` are those that programs may start, "*" is any.

    `environment` is what every started process sees, `variables` the values of what programs name. `result_chars`
    bounds what one call gives.
    """

    connect_s: float = 15.0
    call_s: float = 60.0
    result_chars: int = 100_000
    commands: tuple[str, ...] = (ANY_COMMAND,)
    environment: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


class RemoteServer:
    """One server. `tools` are by the names of playbooks, None until they are known; `trouble` says why it is not
    connected."""

    def __init__(self, agent: AgentSpec, spec: RemoteSpec, options: RemoteOptions, clock: Clock, bus: Bus) -> None:
        self.tools: Mapping[str, RemoteTool] | None = None
        self.trouble: str | None = None
        self._agent = agent
        self._spec = spec
        self._options = options
        self._clock = clock
        self._bus = bus
        self._schemas: dict[str, Mapping[str, Any] | None] = {}
        self._connection: ToolServer | None = None
        self._wanted = anyio.Event()
        self._settled = WakeSignal()
        self._pausing = False
        self._last_said = ""

    async def run(self) -> None:
        """Keep a connection, and open one when it is wanted, until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            if self.tools is not None:
                await self._wanted.wait()
            self._wanted = anyio.Event()
            try:
                await self._connected()
                pause_s = FIRST_PAUSE_S
            except RemoteError as error:
                self._pausing = True
                self._fail(str(error), pause_s)
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
                self._pausing = False
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _connected(self) -> None:
        """Connect, and return when the connection ends. Raises RemoteError if none is possible."""
        self._check_allowed()
        self._last_said = ""
        try:
            async with self._open() as connection:
                await self._list_in_time(connection)
                self._bus.publish(happened.RemoteConnected(*self._which, len(self.tools or ())))
                self._connection, self.trouble = connection, None
                self._settled.send()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._relist, connection)
                    await connection.closed.wait()
                    tasks.cancel_scope.cancel()
        finally:
            self._connection = None

    def _open(self) -> AbstractAsyncContextManager[ToolServer]:
        if self._spec.transport != "a2a":
            return open_connection(self._spec, self._wiring())
        try:
            from gateway.features.remote.a2a.connection import open_agent
        except ImportError as error:
            text = f'an A2A agent needs the extra "a2a" ({error.name} is missing): pip install "parley-gateway[a2a]"'
            raise RemoteUnavailable(text) from error
        return open_agent(self._spec, self._wiring(), self._clock)

    def _fail(self, why: str, pause_s: float) -> None:
        self.trouble = self._hidden(f"{why} ({self._last_said})" if self._last_said else why)
        self._bus.publish(happened.RemoteUnreachable(*self._which, self.trouble, pause_s))
        self._settled.send()

    async def _list_in_time(self, connection: ToolServer) -> None:
        limit_s = self._options.connect_s
        try:
            with anyio.fail_after(limit_s):
                await self._list(connection)
        except TimeoutError as error:
            raise RemoteUnavailable(f"it does not say in {limit_s:g} s which tools it has") from error

    async def _list(self, connection: ToolServer) -> None:
        listed = await connection.tools()
        tools = remote_tools(listed, self._agent.span)
        self._schemas = {tool.name: tool.output_schema for tool in listed}
        self.tools = {tool.spec.name: tool for tool in tools}
        if len(tools) < len(listed):
            left_out = f"{len(listed) - len(tools)} of its {len(listed)} tools are left out"
            self._bus.publish(happened.RemoteSaid(*self._which, left_out))

    async def _relist(self, connection: ToolServer) -> None:
        while True:
            await connection.changed.wait()
            connection.changed = anyio.Event()
            try:
                await self._list_in_time(connection)
            except RemoteError as error:
                self._bus.publish(happened.RemoteUnreachable(*self._which, self._hidden(str(error))))
                connection.closed.set()
                return
            self._bus.publish(happened.RemoteListed(*self._which, len(self.tools or ())))

    async def asked(self) -> None:
        """Return when the server was asked for its tools, even in vain."""
        if self.tools is None and self.trouble is None:
            await self._settled.wait()

    async def call(self, what: str, tool: RemoteTool, arguments: Mapping[str, Any], key: str) -> Any:
        began_s = self._clock.monotonic()
        try:
            value = await self._call(what, tool, arguments, key)
        except (RemoteError, OutcomeUnknown) as error:
            self._bus.publish(
                happened.RemoteReturned(*self._which, what, self._clock.monotonic() - began_s, str(error))
            )
            raise
        self._bus.publish(happened.RemoteReturned(*self._which, what, self._clock.monotonic() - began_s))
        return value

    async def _call(self, what: str, tool: RemoteTool, arguments: Mapping[str, Any], key: str) -> Any:
        limit_s = self._spec.timeout_s or self._options.call_s
        sent = False
        try:
            with anyio.fail_after(limit_s):
                for _ in range(MAX_TRIES):
                    connection = await self._connection_for(what)
                    sent = True
                    came = await self._once(what, connection, tool, arguments, key)
                    if not isinstance(came, AnswerLost):
                        return came[0]
                    sent = came.sent
                    if came.sent and not tool.repeatable:
                        raise OutcomeUnknown(_unknown(what, came.why))
        except TimeoutError as error:
            why = f"it took longer than {limit_s:g} s"
            if sent and not tool.repeatable:
                raise OutcomeUnknown(_unknown(what, why)) from error
            raise RemoteTimeout(f"{what}: {why}") from error
        raise RemoteUnavailable(f"{what}: the connection ended {MAX_TRIES} times before an answer came")

    async def _once(
        self, what: str, connection: ToolServer, tool: RemoteTool, arguments: Mapping[str, Any], key: str
    ) -> tuple[Any] | AnswerLost:
        try:
            came = await connection.call(tool.tool, arguments, key)
        except RemoteFault as error:
            raise RemoteFault(self._hidden(f"{what}: {error}")) from error
        if isinstance(came, AnswerLost):
            self._bus.publish(happened.RemoteLost(*self._which, what, came.why))
            return came
        if came.is_error:
            raise ToolFailed(self._hidden(f"{what}: {error_of(came)}"))
        return (value_of(came, self._schemas.get(tool.tool), self._options.result_chars),)

    async def _connection_for(self, what: str) -> ToolServer:
        """The connection, opened if needed. Raises RemoteUnavailable at once shortly after a failed attempt."""
        while self._connection is None or self._connection.closed.is_set():
            if self._pausing:
                raise RemoteUnavailable(f"{what}: its server cannot be reached: {self.trouble}")
            self._wanted.set()
            await self._settled.wait()
        return self._connection

    def _check_allowed(self) -> None:
        spec, allowed = self._spec, self._options.commands
        if spec.transport == "stdio" and ANY_COMMAND not in allowed:
            command = spec.command or PYTHON
            if command not in allowed and Path(command).name not in allowed:
                raise RemoteUnavailable(
                    f"{command} is not among remote.commands, which the settings let programs start"
                )
        for name in spec.variables:
            if name not in self._options.variables:
                raise RemoteUnavailable(f"{name} is not set; put it into the environment or .env")

    def _wiring(self) -> ConnectionWiring:
        return ConnectionWiring(
            self._options.connect_s,
            self._options.environment,
            self._options.variables,
            said=self._hear,
            progressed=lambda text: self._bus.publish(happened.RemoteProgressed(*self._which, text)),
        )

    def _hear(self, text: str) -> None:
        self._last_said = text
        self._bus.publish(happened.RemoteSaid(*self._which, self._hidden(text)))

    def _hidden(self, text: str) -> str:
        for name in self._spec.variables:
            secret = self._options.variables.get(name, "")
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, MASK)
        return text

    @property
    def _which(self) -> tuple[str, str]:
        return self._agent.name, self._spec.shown


def _unknown(what: str, why: str) -> str:
    return f"{what} may or may not have happened ({why}); it was not repeated. Look before doing it again"
