"""Uvicorn's protocol for one connection, with a time limit for each part of a request and for an answer.

accepted ──> header ──> body ──> "" (is answered) ──> idle ──> header …      a WebSocket keeps its place until it ends
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gateway.socket_protocol import SocketProtocol
from gateway.web.connections import Connections

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SENT_WITHIN_S = 5.0

_Part = Literal["header", "body", "idle", ""]


class PatientConfig(uvicorn.Config):
    """A configuration whose connections take their places among `connections`."""

    def __init__(self, app: Any, connections: Connections, **more: Any) -> None:
        super().__init__(app, http=PatientProtocol, **more)
        self.connections = connections


class PatientProtocol(H11Protocol):
    """One connection, which takes a place. `give_way` ends it for another one."""

    def __init__(self, config: PatientConfig, *given: Any, **named: Any) -> None:
        super().__init__(config, *given, **named)
        self._places = config.connections
        self._bounds = config.connections.bounds
        self._address: str | None = None
        self._part: _Part = ""
        self._since_s = 0.0
        self._received = 0
        self._limit: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self._places.enter(address):
            transport.abort()
            return
        self._address = address
        self._wait_for("header")

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for("")
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.transport.is_closing() and self._is_here:
            part = self._awaited()
            self._wait_for("header" if part == "idle" else part)
            self._received += len(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for(self._awaited())

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._wait_for("")
        super().handle_websocket_upgrade(event)
        socket = self.transport.get_protocol()
        assert isinstance(socket, SocketProtocol)
        socket.on_lost = self._leave

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._end_soon()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(self._bounds.stuck_s, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def give_way(self) -> None:
        """End at once."""
        self._wait_for("")
        self._leave()
        self.transport.abort()

    @property
    def _is_here(self) -> bool:
        """Whether the connection is still one for requests."""
        return self.transport.get_protocol() is self

    def _awaited(self) -> _Part:
        if self.cycle is None or self.cycle.response_complete:
            return "idle"
        return "body" if self.cycle.more_body else ""

    def _wait_for(self, part: _Part) -> None:
        if part == self._part:
            return
        self._part, self._since_s, self._received = part, self.loop.time(), 0
        self._places.go_on(self)
        if self._limit is not None:
            self._limit.cancel()
        if part and self._address is not None:
            self._places.wait(self, self._address)
        if part in ("header", "body"):
            limit_s = self._bounds.header_s if part == "header" else self._bounds.body_s
            self._limit = self.loop.call_later(limit_s, self._look)

    def _look(self) -> None:
        """End a request that takes too long. A body is given more time the more of it has come, and any time where it
        is the application that does not go on."""
        if self._part == "body":
            now_s = self.loop.time()
            if self.flow.read_paused:
                self._since_s, self._received = now_s, 0
            left_s = self._since_s + self._bounds.body_s + self._received / self._bounds.bytes_per_s - now_s
            if left_s > 0:
                self._limit = self.loop.call_later(left_s, self._look)
                return
        begun = self.cycle is not None and not self.cycle.response_complete
        if self._received or self.cycle is not None:  # a browser may open a connection and ask for nothing
            self._places.tell("slow body" if self._part == "body" else "slow header", self._address or "")
            if not (begun and self.cycle.response_started):
                self.transport.write(_TOO_SLOW)
        if begun:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        self._end_soon()

    def _give_up(self) -> None:
        self._places.tell("stuck answer", self._address or "")
        self.transport.abort()

    def _end_soon(self) -> None:
        """Forget what the other side does not fetch."""
        self.loop.call_later(_SENT_WITHIN_S, self.transport.abort)

    def _leave(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
        if self._address is not None:
            self._places.leave(self._address)
            self._address = None
