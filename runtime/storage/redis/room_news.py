"""News among nodes, about rooms unless another channel is named: publish and subscribe on Redis. Implements
`adapters.web.echo.RoomNews`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from runtime.storage.redis.client.commands import COMMAND_LIMIT_S
from runtime.storage.redis.client.connection import RedisConnection

_CHANNEL = "{parley:rooms}:news"
_QUIET_S = 20.0
"""After so long without a word the server is asked whether it is still there."""


class RedisRoomNews:
    """A node listens to its own channel and to that of all."""

    def __init__(self, connection: RedisConnection, node: str, channel: str = _CHANNEL) -> None:
        self.node = node
        self._channel = channel
        self._connection = connection

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        await self._connection.ask("PUBLISH", self._channel if to is None else f"{self._channel}:{to}", text)

    async def listen(
        self, on_open: Callable[[], Awaitable[None]], on_news: Callable[[str], Awaitable[None]], /
    ) -> None:
        while True:
            heard = await self._connection.subscribed(self._channel, f"{self._channel}:{self.node}")
            try:
                await on_open()
                while True:
                    await on_news(await _next(heard))
            except (RedisError, TimeoutError, OSError):
                continue
            finally:
                with anyio.CancelScope(shield=True):
                    await heard.aclose()  # type: ignore[no-untyped-call]


async def _next(heard: PubSub) -> str:
    """The next text. Raises TimeoutError when the server does not say that it is there."""
    asked = False
    while True:
        message = await heard.get_message(timeout=COMMAND_LIMIT_S if asked else _QUIET_S)
        if message is None:
            if asked:
                raise TimeoutError("the server does not answer")
            await heard.ping()
            asked = True
        elif message["type"] == "message":
            return str(message["data"])
        else:
            asked = False
