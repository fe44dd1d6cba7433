"""Going through the keys of all servers in pages, without holding any of them up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.storage.redis.client.connection import RedisConnection

_AT_ONCE = 1000


async def keys_like(connection: RedisConnection, pattern: str) -> AsyncIterator[Sequence[str]]:
    """The keys that match a glob pattern, page by page. A key may come twice, a new one not at all.

    A position means nothing to a server that has taken another's place: after every failure all begins again.
    """
    whole = False
    while not whole:
        failures, whole = connection.failures, True
        for number in range(await connection.primaries()):
            cursor = 0
            while whole:

                async def call(client: Redis, position: int = cursor) -> Any:
                    return await client.scan(position, match=pattern, count=_AT_ONCE)

                cursor, found = await connection.at_primary(number, call)
                whole = connection.failures == failures
                if found:
                    yield found
                if int(cursor) == 0:
                    break
