"""Socket Mode: events over a WebSocket, each acknowledged when its reader says so, and a new socket when one ends.

slack_sdk's own client of Socket Mode goes on with an address that is used up, keeps a refused token to itself and reads
without bounds; so the socket is aiohttp's, and slack_sdk has the address and the frames.
Frames: docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import anyio
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters.slack.memory import Memory
from adapters.slack.patience import Patience
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed

MOST_WAITING: Final = 1000
"""Events that may wait to be read; one more is left for Slack to send again."""
DONE_REMEMBERED: Final = 10_000
"""Acknowledged events that are known when Slack sends them once more: it does so for up to 6 minutes."""
CLOSING_TAKES_S: Final = 1.0
SHORT_LIFE_S: Final = 5.0
"""A connection that ends earlier is followed by another at once only the first time, then after a pause."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event. `again` says that Slack has sent it before."""

    event_id: str
    body: Mapping[str, Any]
    again: bool


class EventSocket:
    """Events as they come, while `listen` runs. `open_url` gives the address of one connection."""

    def __init__(
        self, open_url: Callable[[], Awaitable[str]], clock: Clock, *, ping_interval_s: float, call_timeout_s: float
    ) -> None:
        self._open_url = open_url
        self._clock = clock
        self._patience = Patience(clock)
        self._short_lives = 0
        self._ping_interval_s = ping_interval_s
        self._call_timeout_s = call_timeout_s
        self._arrived, self._waiting = anyio.create_memory_object_stream[Delivery](MOST_WAITING)
        self._pending: dict[str, list[str]] = {}
        self._done = Memory[bool](DONE_REMEMBERED)
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._failure: AuthFailed | None = None

    async def listen(self, first_url: str) -> None:
        """Fill in what `next` gives, for ever; ends when the token is refused, which `next` raises."""
        url = first_url
        try:
            while True:
                await self._converse_patiently(url)
                url = await self._patience.until_answered(self._open_url)
        except AuthFailed as error:
            self._failure = error
        finally:
            self._arrived.close()

    async def next(self) -> Delivery:
        """The next event that was not seen before. Raises AuthFailed."""
        try:
            return await self._waiting.receive()
        except anyio.EndOfStream:
            if self._failure is None:
                raise
            raise self._failure from None

    async def acknowledge(self, delivery: Delivery) -> None:
        """Tell Slack that the event is safe, as often as it has sent it. Never raises: what is lost comes again."""
        self._done.keep(delivery.event_id, True)
        for envelope_id in self._pending.pop(delivery.event_id, ()):
            await self._answer(envelope_id)

    def leave(self, delivery: Delivery) -> None:
        """Do not acknowledge: Slack shall send it again."""
        self._pending.pop(delivery.event_id, None)

    def close(self) -> None:
        """Nothing is read any more."""
        self._arrived.close()
        self._waiting.close()

    async def _converse_patiently(self, url: str) -> None:
        """One connection, and a pause after it where the next one is likely to end as soon."""
        began_at_s = self._clock.monotonic()
        try:
            await self._converse(url)
        except (aiohttp.ClientError, OSError) as error:
            await self._patience.pause(f"The connection for events failed: {error!r}")
        else:
            await self._pause_after(self._clock.monotonic() - began_at_s)

    async def _pause_after(self, lived_s: float) -> None:
        if lived_s >= SHORT_LIFE_S:
            self._short_lives = 0
            self._patience.rewarded()
            return
        self._short_lives += 1
        if self._short_lives > 1:
            await self._patience.pause("Connections for events end as soon as they begin")

    async def _converse(self, url: str) -> None:
        """One connection, to its end. Raises aiohttp's errors and OSError, TimeoutError among them."""
        timeout = aiohttp.ClientWSTimeout(ws_close=CLOSING_TAKES_S)
        async with aiohttp.ClientSession() as session:
            with anyio.fail_after(self._call_timeout_s):
                socket = await session.ws_connect(url, heartbeat=self._ping_interval_s, timeout=timeout)
            async with socket:
                self._socket = socket
                try:
                    await self._read(socket)
                finally:
                    self._socket = None

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for frame in socket:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                return
            message = _parsed(frame.data)
            if message.get("type") == "disconnect":
                return
            if (request := SocketModeRequest.from_dict(message)) is not None:
                await self._take(request)

    async def _take(self, request: SocketModeRequest) -> None:
        event_id = request.payload.get("event_id")
        if request.type != "events_api" or not isinstance(event_id, str) or event_id in self._done:
            await self._answer(request.envelope_id)
        elif event_id in self._pending:
            self._pending[event_id].append(request.envelope_id)
        else:
            self._keep(Delivery(event_id, request.payload, bool(request.retry_attempt)), request.envelope_id)

    def _keep(self, delivery: Delivery, envelope_id: str) -> None:
        try:
            self._arrived.send_nowait(delivery)
        except anyio.WouldBlock:
            _log.warning("Too many events of Slack's wait; one is left for later", extra={"waiting": MOST_WAITING})
        else:
            self._pending[delivery.event_id] = [envelope_id]

    async def _answer(self, envelope_id: str) -> None:
        socket = self._socket
        if socket is None:
            return
        try:
            with anyio.move_on_after(self._call_timeout_s):
                await socket.send_json(SocketModeResponse(envelope_id).to_dict())
        except (aiohttp.ClientError, OSError) as error:
            _log.info("An acknowledgement did not reach Slack", extra={"error": repr(error)})


def _parsed(text: str) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    if isinstance(message, dict):
        return message
    _log.warning("A frame of Slack's is not understood and is passed over")
    return {}
