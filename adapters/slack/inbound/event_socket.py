"""Socket Mode: deliveries over a WebSocket, each acknowledged when its reader says so, and a new socket when one ends.

slack_sdk's own client of Socket Mode goes on with an address that is used up, keeps a refused token to itself and reads
without bounds; so the socket is aiohttp's, and slack_sdk has the address and the frames.
Frames: docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp
import anyio
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters.adapter import NOT_UNDERSTOOD
from adapters.slack.api.retrying import Retrying
from adapters.slack.inbound.deliveries import Deliveries, delivery_of
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed

CLOSING_TAKES_S: Final = 1.0
PING_INTERVAL_S: Final = 5.0
SHORT_LIFE_S: Final = 5.0
"""A connection that ends earlier than this is followed by another at once only the first time, then after a pause."""
REPEATED_FOR_S: Final = 60.0
"""The time without a connection after which history is read. Slack repeats an event at once, after one minute and after
five."""

_log = logging.getLogger(__name__)


class EventSocket:
    """Fills `deliveries` while `listen` runs. `open_url` gives the address of one connection."""

    def __init__(
        self,
        open_url: Callable[[], Awaitable[str]],
        deliveries: Deliveries,
        clock: Clock,
        *,
        call_timeout_s: float,
        missed: Callable[[], None],
    ) -> None:
        """`missed` is called when a connection is open after a time without one."""
        self._missed = missed
        self._left_at_s: float | None = None
        self._open_url = open_url
        self._deliveries = deliveries
        self._clock = clock
        self._patience = Retrying(clock)
        self._short_lives = 0
        self._call_timeout_s = call_timeout_s
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def listen(self, first_url: str) -> None:
        """Receive deliveries until cancelled; ends when the token is refused, which the reader is told."""
        url = first_url
        failure: AuthFailed | None = None
        try:
            while True:
                await self._converse_patiently(url)
                url = await self._patience.until_answered(self._open_url)
        except AuthFailed as error:
            failure = error
        finally:
            self._deliveries.fail(failure)

    async def _converse_patiently(self, url: str) -> None:
        """One connection, and a pause after it if the next would probably end as soon."""
        began_at_s = self._clock.monotonic()
        try:
            await self._converse(url)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # of an address that is none, too
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
        """One connection, up to its end. Raises aiohttp's errors and OSError, including TimeoutError."""
        timeout = aiohttp.ClientWSTimeout(ws_close=CLOSING_TAKES_S)
        async with aiohttp.ClientSession() as session:
            with anyio.fail_after(self._call_timeout_s):
                socket = await session.ws_connect(url, heartbeat=PING_INTERVAL_S, timeout=timeout)
            async with socket:
                self._socket = socket
                if self._left_at_s is None or self._clock.monotonic() - self._left_at_s > REPEATED_FOR_S:
                    self._missed()
                try:
                    await self._read(socket)
                finally:
                    self._socket = None
                    self._left_at_s = self._clock.monotonic()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for frame in socket:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                return
            message = _parsed(frame.data)
            if message.get("type") == "disconnect":
                return
            try:
                request = SocketModeRequest.from_dict(message)
            except (SlackClientError, *NOT_UNDERSTOOD) as error:
                _log.warning("A frame of Slack's is not understood and is ignored", extra={"error": repr(error)})
                await self._answer(message.get("envelope_id"), None)
                continue
            if request is not None:
                await self._take(request)

    async def _take(self, request: SocketModeRequest) -> None:
        async def confirm(safe: bool, words: Mapping[str, Any] | None) -> None:
            if safe:
                await self._answer(request.envelope_id, words)

        delivery = delivery_of(request.type, request.payload, again=bool(request.retry_attempt))
        if delivery is None:
            await confirm(True, None)
        else:
            await self._deliveries.take(delivery, confirm)

    async def _answer(self, envelope_id: Any, words: Mapping[str, Any] | None) -> None:
        socket = self._socket
        if socket is None:
            return
        try:
            with anyio.move_on_after(self._call_timeout_s):
                await socket.send_json(SocketModeResponse(envelope_id, dict(words) if words else None).to_dict())
        except (aiohttp.ClientError, OSError) as error:
            _log.info("An acknowledgement did not reach Slack", extra={"error": repr(error)})


def _parsed(text: str) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    if isinstance(message, dict):
        return message
    _log.warning("A frame of Slack's is not understood and is ignored")
    return {}
