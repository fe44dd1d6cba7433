"""Each node's share of every shared limit, on Redis. The server's clock decides which nodes are alive."""

from __future__ import annotations

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import SHARES
from runtime.storage.redis.client.script import load_script
from runtime.stores.sessions import LeaseHolder

_CLAIM = load_script("share_claim")


class RedisShareStore:
    """Implements `runtime.stores.shares.ShareStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        milliseconds = max(1, round(holder.ttl_s * 1000))
        words: list[str | int] = [holder.node, milliseconds, repr(in_use), repr(weight)]
        return float(await self._connection.run(_CLAIM, [SHARES], words, replicated=False))

    async def leave(self, holder: LeaseHolder, /) -> None:
        await self._connection.write("HDEL", SHARES, holder.node)
