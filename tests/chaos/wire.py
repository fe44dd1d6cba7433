"""A wire between two processes that can be cut, delayed, left hanging, or lose the answers to what it carried."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import anyio
from anyio.abc import SocketAttribute, SocketStream

Mode = Literal["open", "refuse", "hang", "slow", "swallow"]

_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_CHUNK_BYTES = 64 * 1024


class Wire:
    """Carries what comes to `port` (or to the socket `path`) on to `target`: a port of loopback, or a socket's path.

    open: everything passes · refuse: new connections end at once · hang: connections stand, nothing passes ·
    slow: each piece takes `delay_s` longer · swallow: questions pass, answers never come.
    """

    def __init__(self, target: int | Path, path: Path | None = None) -> None:
        self.port = 0
        self.path = path
        self.mode: Mode = "open"
        self.delay_s = 0.15
        self.swallowed = 0
        self.refused = 0
        self._refused_since = 0
        self._target = target
        self._changed = anyio.Event()
        self._open: set[SocketStream] = set()

    def turn(self, mode: Mode) -> None:
        """From now on the wire is like that, for the connections that stand as well."""
        self.mode = mode
        self._refused_since = self.refused
        self._note()

    async def until_refused(self) -> None:
        """Return when a connection has been refused since the wire was turned."""
        while self.refused == self._refused_since:
            await self._changed.wait()

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def cut(self) -> int:
        """Reset every connection; how many there were."""
        cut = list(self._open)
        for stream in cut:
            _reset(stream)
        return len(cut)

    @asynccontextmanager
    async def carrying(self) -> AsyncIterator[Wire]:
        """Carry as long as the block lasts."""
        listener = (
            await anyio.create_tcp_listener(local_host="127.0.0.1")
            if self.path is None
            else await anyio.create_unix_listener(self.path)
        )
        asyncio.get_running_loop().set_exception_handler(_unless_cut)
        async with listener, anyio.create_task_group() as tasks:
            if self.path is None:
                self.port = listener.extra(SocketAttribute.local_port)
            tasks.start_soon(listener.serve, self._serve)
            yield self
            tasks.cancel_scope.cancel()

    async def _serve(self, client: SocketStream) -> None:
        self._open.add(client)
        try:
            async with client:
                if self.mode == "refuse":
                    self.refused += 1
                    self._note()
                    return
                with suppress(*_GONE):
                    async with await self._reach() as server:
                        await self._carry_both(client, server)
        finally:
            self._open.discard(client)

    async def _reach(self) -> SocketStream:
        if isinstance(self._target, Path):
            return await anyio.connect_unix(self._target)
        return await anyio.connect_tcp("127.0.0.1", self._target)

    async def _carry_both(self, client: SocketStream, server: SocketStream) -> None:
        async with anyio.create_task_group() as tasks:

            async def carry(source: SocketStream, sink: SocketStream, *, answers: bool) -> None:
                with suppress(*_GONE):
                    while True:
                        await self._pass_on(await source.receive(_CHUNK_BYTES), sink, answers=answers)
                tasks.cancel_scope.cancel()

            tasks.start_soon(lambda: carry(client, server, answers=False))
            await carry(server, client, answers=True)

    async def _pass_on(self, data: bytes, sink: SocketStream, *, answers: bool) -> None:
        while self.mode == "hang":
            await self._changed.wait()
        if self.mode == "swallow" and answers:
            self.swallowed += 1
            return
        if self.mode == "slow":
            await anyio.sleep(self.delay_s)
        await sink.send(data)


def _unless_cut(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """anyio 4 leaves the reader of a socket in place for a moment when whoever waits for it is cancelled."""
    if not isinstance(context.get("exception"), asyncio.InvalidStateError):
        loop.default_exception_handler(context)


def _reset(stream: SocketStream) -> None:
    """End a connection as a crashed machine's peer does: with a reset, where there is such a thing."""
    raw = stream.extra(SocketAttribute.raw_socket)
    with suppress(OSError):
        if raw.family == socket.AF_INET:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.shutdown(socket.SHUT_RDWR)
