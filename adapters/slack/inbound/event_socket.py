"""Socket Mode: deliveries over a WebSocket, each acknowledged when Bolt answers it, and a new socket when one ends.

Bolt's own sockets are slack_sdk's, whose clients go on with an address that is used up, keep a refused token to
themselves and read without bounds; so the socket is aiohttp's, and slack_sdk has the address and the frames.
Frames: docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import aiohttp
import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters.adapter import NOT_UNDERSTOOD
from adapters.retrying import PlatformPatience
from adapters.slack.inbound.bolt import RETRY_HEADER, BoltApp
from adapters.slack.inbound.deliveries import MOST_WAITING, SlackDeliveries
from runtime.core.errors import AuthFailed

NOT_HEARD: Final = "Slack cannot be heard"
CLOSING_TAKES_S: Final = 1.0
PING_INTERVAL_S: Final = 5.0
SHORT_LIFE_S: Final = 5.0
"""A connection that ends earlier than this is followed by another at once only the first time, then after a pause."""
REPEATED_FOR_S: Final = 60.0
"""The time unconnected after which history is read: Slack repeats events at once, after one minute and five."""
ANSWERED_WITHIN_S: Final = 60.0
"""The time limit for what one frame brings. Slack has sent it again long before."""
MOST_OPEN: Final = 2 * MOST_WAITING
"""The number of frames whose listeners may run; Slack sends further ones again."""
_log = logging.getLogger(__name__)


class EventSocket(Struct, eq=False):
    """Hands frames to `bolt` while `listen` runs; `missed` is called when a connection opens after a time without."""

    open_url: Callable[[], Awaitable[str]]
    bolt: BoltApp
    deliveries: SlackDeliveries
    patience: PlatformPatience
    call_timeout_s: float
    missed: Callable[[], None]
    _left_at_s: float | None = None
    _open: int = 0
    _short_lives: int = 0
    _socket: aiohttp.ClientWebSocketResponse | None = None

    async def listen(self, first_url: str) -> None:
        """Receive deliveries until cancelled; ends when the token is refused, which the reader is told."""
        url = first_url
        failure: AuthFailed | None = None
        async with anyio.create_task_group() as tasks:
            try:
                while True:
                    await self._converse_patiently(url, tasks)
                    url = await self.patience.until_answered(self.open_url)
            except AuthFailed as error:
                failure = error
            finally:
                self.deliveries.fail(failure)

    async def _converse_patiently(self, url: str, tasks: TaskGroup) -> None:
        """One connection, and a pause after it if the next would probably end as soon."""
        began_at_s = self.patience.clock.monotonic()
        try:
            await self._converse(url, tasks)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # of an address that is none, too
            await self.patience.pause(f"The connection for events failed: {error!r}")
            return
        if self.patience.clock.monotonic() - began_at_s >= SHORT_LIFE_S:
            self._short_lives = 0
            self.patience.rewarded()
            return
        self._short_lives += 1
        if self._short_lives > 1:
            await self.patience.pause("Connections for events end as soon as they begin")

    async def _converse(self, url: str, tasks: TaskGroup) -> None:
        """One connection, up to its end. Raises aiohttp's errors and OSError, including TimeoutError."""
        timeout = aiohttp.ClientWSTimeout(ws_close=CLOSING_TAKES_S)
        async with aiohttp.ClientSession() as session:
            with anyio.fail_after(self.call_timeout_s):
                socket = await session.ws_connect(url, heartbeat=PING_INTERVAL_S, timeout=timeout)
            async with socket:
                self._socket = socket
                if self._left_at_s is None or self.patience.clock.monotonic() - self._left_at_s > REPEATED_FOR_S:
                    self.missed()
                try:
                    await self._read(socket, tasks)
                finally:
                    self._socket = None
                    self._left_at_s = self.patience.clock.monotonic()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse, tasks: TaskGroup) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                return
            frame = _object_in(message.data)
            if frame is None:
                _log.warning("A frame of Slack's is not understood and is ignored")
                continue
            if frame.get("type") == "disconnect":
                return
            try:
                given = SocketModeRequest.from_dict(frame)
                request = None if given is None else _bolt_request(given)
            except (SlackClientError, *NOT_UNDERSTOOD) as error:
                _log.warning("A frame of Slack's is not understood and is ignored", extra={"error": repr(error)})
                await self._answer(frame.get("envelope_id"), BoltResponse(status=200))
                continue
            if request is None:
                continue
            if self._open < MOST_OPEN:
                self._open += 1
                tasks.start_soon(self._dispatch, frame["envelope_id"], request)
            else:
                _log.warning("Too much of Slack's is open; something is left for later", extra={"open": MOST_OPEN})

    async def _dispatch(self, envelope_id: Any, request: AsyncBoltRequest) -> None:
        try:
            response = await self.bolt.dispatch(request, within_s=ANSWERED_WITHIN_S)
        finally:
            self._open -= 1
        if response.status == 200:
            await self._answer(envelope_id, response)

    async def _answer(self, envelope_id: Any, response: BoltResponse) -> None:
        socket = self._socket
        if socket is None:
            return
        try:
            with anyio.move_on_after(self.call_timeout_s):
                await socket.send_json(SocketModeResponse(envelope_id, _payload(response)).to_dict())
        except (aiohttp.ClientError, OSError) as error:
            _log.info("An acknowledgement did not reach Slack", extra={"error": repr(error)})


def _bolt_request(frame: SocketModeRequest) -> AsyncBoltRequest:
    payload = frame.payload if isinstance(frame.payload, dict) else {}
    again: dict[str, str | Sequence[str]] = {RETRY_HEADER: str(frame.retry_attempt or 0)}
    return AsyncBoltRequest(mode="socket_mode", body=payload, headers=again)


def _payload(response: BoltResponse) -> dict[str, Any] | None:
    """What Slack shall do or show, which is JSON, or show, which is a text."""
    payload = _object_in(response.body)
    return payload if payload is not None else {"text": response.body} if response.body else None


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
