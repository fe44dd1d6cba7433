"""The server's side of a WebSocket, which can also send a frame at once, without a task that waits.

A text that goes to many pages is encoded once: a server's frames are not masked (RFC 6455, 5.1), so they are the same
bytes for all. One frame costs little more than the write of the system.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from starlette.types import Scope
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode

_EXTENSION = "parley.send_at_once"


class SocketLink:
    """An accepted WebSocket as a visit's Link. The other side may vanish at any time."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.send_at_once = sender_at_once(socket.scope)

    async def receive(self) -> str | None:
        """The next frame; None when the other side has gone."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        return message.get("text") or ""

    async def send(self, frame: str, /) -> None:
        """Send a frame; does nothing when the other side has gone."""
        try:
            await self._socket.send_text(frame)
        except WebSocketDisconnect:
            return

    async def close(self, code: int, reason: str, /) -> None:
        try:
            await self._socket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError):  # it is closed already
            return


class SocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's protocol, which hands the application `send_at_once` as an extension of ASGI. `on_lost` is called when
    the connection has ended."""

    on_lost: Callable[[], None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self.on_lost is not None:
            self.on_lost()
        super().connection_lost(exc)

    async def run_asgi(self) -> None:
        cast("dict[str, Any]", self.scope["extensions"])[_EXTENSION] = self._send_at_once
        await super().run_asgi()

    def _send_at_once(self, text: str) -> bool:
        if not self.writable.is_set():
            return False
        if not (self.close_sent or self.transport.is_closing()):
            self.transport.write(_frame(text))
        return True


def sender_at_once(scope: Scope) -> Callable[[str], bool]:
    """The function that sends a text frame on an accepted WebSocket now. It returns False, and sends nothing, where the
    connection's buffer is full; what is sent to a side that has gone is forgotten.

    With another server than ours, nothing can be sent at once.
    """
    sender: Callable[[str], bool] = scope.get("extensions", {}).get(_EXTENSION, _never)
    return sender


def _never(_text: str) -> bool:
    return False


@lru_cache(maxsize=1)
def _frame(text: str) -> bytes:
    """The frame; the last one is kept, since the same text goes to one page after the other."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
