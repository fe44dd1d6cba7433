"""A WebSocket of the web server as a visit's link."""

from __future__ import annotations

from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.socket_protocol import sender_at_once


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
        """Close it, if it is open."""
        try:
            await self._socket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError):  # it is closed already
            return
