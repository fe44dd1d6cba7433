"""The ways to an MCP server: a process, with requests on its standard input and an answer a line, and HTTP."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from msgspec import Struct

from runtime.core.errors import RemoteUnavailable
from runtime.core.plain_text import one_line

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The most bytes of one answer; a server that writes a longer line counts as broken."""

MAX_SAID_BYTES = 64 * 1024
PATIENCE_S = 1.0
"""The time for a server to end after its input has ended."""

_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)

_TETHER = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    print(error, file=sys.stderr)
    os._exit(127)
"""
"""A prelude that asks Linux to kill the process when its parent dies, whose id it is given, and then becomes the
command.
"""

Said = Callable[[str], None]
"""Hears a line that a server wrote for people."""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The most bytes of one answer; the rest is not read."""

ATTEMPT: ContextVar[RequestAttempt | None] = ContextVar("ATTEMPT", default=None)
"""The attempt of this task's requests. The SDK passes a task's context on to its requests."""


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str], directory: Path, environment: Mapping[str, str], said: Said
) -> AsyncIterator[Streams]:
    """A running server as the SDK wants it. The process sees `environment` and nothing else, and ends with us.

    Raises RemoteUnavailable when it cannot be started.
    """
    process = await _start(command, directory, environment)
    to_us, answers = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    requests, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_answers, process, to_us, said)
        tasks.start_soon(_write_requests, process, from_us, to_us)
        tasks.start_soon(_read_errors, process, said)
        try:
            yield answers, requests
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
            tasks.cancel_scope.cancel()
            for stream in (to_us, answers, requests, from_us):
                stream.close()


async def _start(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Process:
    whole = list(command)
    if sys.platform == "linux":
        whole = [sys.executable, "-I", "-S", "-c", _TETHER, str(os.getpid()), *command]
    try:
        return await anyio.open_process(whole, cwd=directory, env=dict(environment), start_new_session=True)
    except OSError as error:
        raise RemoteUnavailable(f"{command[0]} cannot be started: {error.strerror or error}") from error


async def _read_answers(process: Process, to_us: MemoryObjectSendStream[Any], said: Said) -> None:
    assert process.stdout is not None
    lines = BufferedByteReceiveStream(process.stdout)
    with suppress(*_GONE, anyio.IncompleteRead, anyio.DelimiterNotFound):
        async with to_us:
            while True:
                line = await lines.receive_until(b"\n", MAX_LINE_BYTES)
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    said(one_line(line[:2000].decode("utf-8", "replace"), 500))
                    continue
                await to_us.send(SessionMessage(message))


async def _write_requests(
    process: Process, from_us: MemoryObjectReceiveStream[SessionMessage], to_us: MemoryObjectSendStream[Any]
) -> None:
    assert process.stdin is not None
    with suppress(*_GONE, OSError):
        async with from_us:
            async for message in from_us:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode() + b"\n")
    to_us.close()


async def _read_errors(process: Process, said: Said) -> None:
    assert process.stderr is not None
    with suppress(*_GONE):
        rest = b""
        async for chunk in process.stderr:
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-MAX_SAID_BYTES:]
            for line in lines:
                if text := one_line(line[:MAX_SAID_BYTES].decode("utf-8", "replace"), 500):
                    said(text)


async def _stop(process: Process) -> None:
    """End the server as MCP says: close its input, then kill it with all its children if it does not end."""
    if process.stdin is not None:
        with suppress(*_GONE, OSError):
            await process.stdin.aclose()
    with anyio.move_on_after(PATIENCE_S):
        await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(PATIENCE_S) as limit:
        await process.wait()  # also until nobody holds its output any more, which a runaway child of it may
    if not limit.cancelled_caught:
        with suppress(*_GONE, OSError):
            await process.aclose()


class RequestAttempt(Struct):
    """The known state of one request. `sent` is False if it certainly reached nobody; `status` is HTTP's."""

    sent: bool = True
    status: int | None = None


def refusal(who: str, status: int | None, why: str) -> str:
    """Why a server, or an agent, has refused a request: by HTTP's status where it tells something."""
    if status in (401, 403):
        return f"the {who} answered HTTP {status}; check `auth` in the program and the secret that it names"
    return f"the {who} answered HTTP {status}" if status is not None and status >= 400 else why


def secret_header(header: str, secret: str | None) -> dict[str, str]:
    if secret is None:
        return {}
    return {header: f"Bearer {secret}" if header.lower() == "authorization" else secret}


def http_client(header: str, secret: str | None, connect_s: float) -> httpx2.AsyncClient:
    """A client that records on the attempt what happened to it. The caller limits the time."""
    timeout = httpx2.Timeout(connect_s, read=None)
    return httpx2.AsyncClient(headers=secret_header(header, secret), timeout=timeout, transport=_Noting())


@contextmanager
def noting(*unsent: type[Exception]) -> Iterator[RequestAttempt]:
    """The attempt of this task's requests; with these errors it has certainly reached nobody."""
    attempt = ATTEMPT.get() or RequestAttempt()
    try:
        yield attempt
    except unsent:
        attempt.sent = False
        raise


async def bounded(stream: AsyncIterable[bytes], most: int, too_long: Exception) -> AsyncIterator[bytes]:
    read = 0
    async for chunk in stream:
        read += len(chunk)
        if read > most:
            raise too_long
        yield chunk


class _Noting(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        with noting(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as attempt:
            response = await super().handle_async_request(request)
        attempt.status = response.status_code
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: object) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        too_long = httpx2.ReadError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
        return bounded(self._inner, MAX_ANSWER_BYTES, too_long)

    async def aclose(self) -> None:
        await self._inner.aclose()
