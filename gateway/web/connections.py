"""The connections of a server: how many there may be at once, and who gives way when there are too many; and uvicorn's
protocol for one, with a time limit for each part of a request and for an answer.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol, Self

import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from gateway.socket_protocol import SocketProtocol

Trouble = Literal["slow header", "slow body", "stuck answer", "crowded"]
"""The reason why a connection was ended: its request or its answer took too long, or others needed its place."""

Tell = Callable[[Trouble, str], None]
"""Hears why a connection from an address was ended."""

KEPT_BACK = 512
"""The descriptors that are left for the database, the model's process and files, and for connections of which some are
not counted yet, or are ended and not closed yet."""

_DESCRIPTORS = 65_536
_MOST = 10_000
_LEAST = 64

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SENT_WITHIN_S = 5.0

_Part = Literal["header", "body", "idle", ""]


class _Waiting(Protocol):
    """A connection that can be told to give way."""

    def give_way(self) -> None: ...


class ConnectionBounds(Struct, frozen=True):
    """How many connections there may be at once, in all and from one address. Times are in seconds: for the head of a
    request, for its body beyond what comes with `bytes_per_s`, and for an answer of which nothing is fetched."""

    total: int
    per_address: int
    header_s: float = 10.0
    body_s: float = 30.0
    bytes_per_s: float = 1_000.0
    stuck_s: float = 60.0

    @classmethod
    def of_process(cls) -> Self:
        """The bounds of this process, whose number of descriptors is raised to what the system lets it have."""
        total = max(_LEAST, min(_MOST, raised_descriptors() - KEPT_BACK))
        return cls(total, total // 2)


def raised_descriptors() -> int:
    """The number of descriptors that this process may have from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Counts the connections of one server.

    Where one too many comes, the connection that has waited longest for a request gives way, of the same address if
    that has too many. One in the middle of an answer never does. Addresses that are `shared`, those of trusted proxies,
    have no bound of their own.
    """

    def __init__(self, bounds: ConnectionBounds, shared: Callable[[str], bool], tell: Tell) -> None:
        self.bounds = bounds
        self.tell = tell
        self._shared = shared
        self._of: Counter[str] = Counter()
        self._all = 0
        self._waiting: dict[_Waiting, str] = {}

    def __len__(self) -> int:
        return self._all

    def enter(self, address: str) -> bool:
        """Count a connection more; False where there is no place for it."""
        crowded = self._of[address] >= self.bounds.per_address and not self._shared(address)
        if crowded or self._all >= self.bounds.total:
            gives_way = next((one for one, of in self._waiting.items() if not crowded or of == address), None)
            self.tell("crowded", address)
            if gives_way is None:
                return False
            del self._waiting[gives_way]  # it may take a while to end, and is asked once
            gives_way.give_way()
        self._of[address] += 1
        self._all += 1
        return True

    def leave(self, address: str) -> None:
        self._all -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    def wait(self, connection: _Waiting, address: str) -> None:
        """A connection waits for a request, or for the rest of one."""
        self._waiting[connection] = address

    def go_on(self, connection: _Waiting) -> None:
        """It waits for nothing, or has gone."""
        self._waiting.pop(connection, None)


class PatientConfig(uvicorn.Config):
    """A configuration whose connections take their places among `connections`."""

    def __init__(self, app: Any, connections: Connections, **more: Any) -> None:
        super().__init__(app, http=_PatientProtocol, **more)
        self.connections = connections


class _PatientProtocol(H11Protocol):
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
