"""The numbers of waiting items in shards: events without a session, and pages without a platform."""

from __future__ import annotations

from collections.abc import Collection

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys


class RedisQueueDepths:
    """Counts waiting items without reading them."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def waiting(self, shards: Collection[int]) -> tuple[int, int]:
        """The numbers of events in the inboxes and of pages in the outboxes of these shards. Waits while the store is
        away.
        """
        keys = [ShardKeys(shard) for shard in shards]
        events = await self._connection.each([key.inbox for key in keys], lambda batch, key: batch.xlen(key))
        pages = await self._connection.each([key.outbox for key in keys], lambda batch, key: batch.scard(key))
        return sum(map(int, events)), sum(map(int, pages))
