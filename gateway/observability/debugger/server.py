"""The debug server: a local port at which one editor at a time debugs the sessions of this node."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress

import anyio
from anyio.abc import ByteStream, TaskStatus
from msgspec import Struct

from gateway.observability.debugger.editor import Editor
from gateway.observability.debugger.session_watch import DebuggerDesk, SessionWatch
from gateway.observability.debugger.sources import ProgramSources
from gateway.observability.debugger.variables import Expressions
from gateway.observability.debugger.wire import Wire
from runtime.bus import Bus
from runtime.core.errors import ConfigError, DebugProtocolError
from runtime.events.service import DebuggerRefused
from runtime.execution.session_context import StepWatcher, WatchedSession
from runtime.language.program import Program
from runtime.sandbox.executor import Sandbox

DEFAULT_ADDRESS = "127.0.0.1:7529"

MAX_CONNECTIONS = 8
LAST_WORDS_S = 2.0
"""The time for an editor to read its last message."""


class DebugAddress(Struct, frozen=True):
    """The address for editors. `waits`: nothing is executed until the first one has connected, and then each session
    stops at its first playbook.
    """

    host: str
    port: int
    waits: bool = False

    @classmethod
    def read(cls, text: str, *, waits: bool = False) -> DebugAddress:
        """The address in `HOST:PORT`, `PORT` or `[::1]:PORT`. Raises ConfigError for one of another machine."""
        host, _, port = text.strip().rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        if not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise ConfigError(f"--debug-address {text}: write HOST:PORT, for example {DEFAULT_ADDRESS}")
        with suppress(ValueError):
            if ipaddress.ip_address(host).is_loopback:
                return cls(host, int(port), waits)
        if host == "localhost":
            return cls("127.0.0.1", int(port), waits)
        raise ConfigError(
            f"--debug-address {text}: a debugger sees and can stop everything, and has no login, so it listens on "
            f"this machine alone: {DEFAULT_ADDRESS} or [::1]:7529. From elsewhere, forward the port with ssh -L."
        )


class SessionDebugger:
    """Watches the sessions of a node for the debugger. See `runtime.execution.session_context.StepWatcher`."""

    def __init__(self, address: DebugAddress, programs: Mapping[str, Program], sandbox: Sandbox, bus: Bus) -> None:
        self.address = address
        self.port = address.port
        sources, expressions = ProgramSources(programs), Expressions(sandbox)
        self._desk = DebuggerDesk(sources, expressions, bus.publish, waits=address.waits)
        self._connections = 0

    @property
    def head(self) -> str:
        return "debugger"

    @property
    def line(self) -> str:
        waits = "; nothing is executed until then" if self._desk.waits else ""
        return f"attach to {self.address.host} port {self.port}{waits}"

    def watch(self, watched: WatchedSession) -> StepWatcher:
        self._desk.sources.take(watched.program)
        made = SessionWatch(watched, self._desk)
        self._desk.threads.watches.append(made)
        return made

    def close(self) -> None:
        """Let every stopped session continue and end debugging, because the gateway stops."""
        self._desk.close()

    async def serve(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled; reports the port. Raises ConfigError when the address is not available."""
        address = self.address
        try:
            listener = await anyio.create_tcp_listener(local_host=address.host, local_port=address.port)
        except OSError as error:
            text = f"debug: cannot listen on {address.host} port {address.port}: {error.strerror}"
            raise ConfigError(f"{text}. Choose another with --debug-address.") from error
        async with listener, anyio.create_task_group() as tasks:
            self.port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
            task_status.started(self.port)
            await listener.serve(self._connected, tasks)

    async def _connected(self, stream: ByteStream) -> None:
        async with stream:
            if self._desk.closed or self._connections >= MAX_CONNECTIONS:
                return
            self._connections += 1
            try:
                await self._converse(stream)
            finally:
                self._connections -= 1

    async def _converse(self, stream: ByteStream) -> None:
        async with anyio.create_task_group() as tasks:
            wire = Wire(stream, on_overflow=tasks.cancel_scope.cancel)
            editor = Editor(wire, self._desk)

            async def write() -> None:
                await wire.write()
                tasks.cancel_scope.cancel()

            tasks.start_soon(write)
            try:
                await editor.run()
            except DebugProtocolError as error:
                text = f"Not the Debug Adapter Protocol: {error}.\n"
                wire.event("output", category="important", output=text)
                self._desk.tell(DebuggerRefused(str(error)))
            finally:
                self._desk.detach(editor)
            wire.finish()
            with anyio.move_on_after(LAST_WORDS_S):
                await anyio.sleep_forever()
            tasks.cancel_scope.cancel()
