"""Going through the keys of a whole database in pages, without holding the server up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.storage.redis.connection import RedisConnection

_AT_ONCE = 1000


async def keys_like(connection: RedisConnection, pattern: str) -> AsyncIterator[Sequence[str]]:
    """The keys that match a glob pattern, page by page. A key may come twice, a new one not at all."""
    cursor = 0
    while True:

        async def call(client: Redis, position: int = cursor) -> Any:
            return await client.scan(position, match=pattern, count=_AT_ONCE)

        cursor, found = await connection.retrying(call)
        if found:
            yield found
        if int(cursor) == 0:
            return
