"""A proxy that says in a header who comes, as oauth2-proxy does: what a browser sends there is taken out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

_MAX_HEAD_BYTES = 64 * 1024
_END = b"\r\n\r\n"


@asynccontextmanager
async def naming_proxy(port: int, header: str, who: str) -> AsyncIterator[int]:
    """Stand before the server on this port; gives the proxy's own. A connection has one request, or a WebSocket."""

    async def serve(browser: SocketStream) -> None:
        async with browser, await anyio.connect_tcp("127.0.0.1", port) as server:
            received = BufferedByteReceiveStream(browser)
            try:
                head = await received.receive_until(_END, _MAX_HEAD_BYTES)
            except (anyio.IncompleteRead, anyio.BrokenResourceError):
                return
            await server.send(_named(head, header, who))
            async with anyio.create_task_group() as ways:
                ways.start_soon(_carry, received, server, ways.cancel_scope)
                ways.start_soon(_carry, server, browser, ways.cancel_scope)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra(SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


def _named(head: bytes, header: str, who: str) -> bytes:
    """The head of a request with who comes; the connection ends with its answer, so that every request has one."""
    first, *lines = head.split(b"\r\n")
    upgrades = any(line.lower().startswith(b"upgrade:") for line in lines)
    dropped = (f"{header.lower()}:".encode(), *(() if upgrades else (b"connection:",)))
    kept = [line for line in lines if line and not line.lower().startswith(dropped)]
    own = [f"{header}: {who}".encode(), *(() if upgrades else (b"Connection: close",))]
    return b"\r\n".join([first, *kept, *own]) + _END


async def _carry(source: ByteReceiveStream, to: ByteSendStream, both: anyio.CancelScope) -> None:
    """Pass on what comes, until one side is gone."""
    try:
        while True:
            await to.send(await source.receive())
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        both.cancel()
