"""All shards at a glance: which node holds which, and how many sessions are at work."""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.sessions import SHARDS


class RedisShardView:
    """Looks at all shards without taking any."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def holders(self) -> Mapping[int, str]:
        """The node of each shard that one holds. Waits while the store is away."""
        leases = [ShardKeys(shard).lease for shard in range(SHARDS)]
        questions = []
        for key in leases:
            questions += [(key, methodcaller("hmget", key, ["node", "expires"])), (key, methodcaller("time"))]
        answers = await self._connection.answers(questions)
        found: dict[int, str] = {}
        for shard, ((node, expires), (seconds, micros)) in enumerate(zip(answers[::2], answers[1::2], strict=True)):
            if node is not None and int(expires) > seconds * 1000 + micros // 1000:
                found[shard] = str(node)
        return found

    async def awake(self) -> int:
        """The number of sessions that have work to do without a further event. Waits while the store is away."""
        keys = [ShardKeys(shard).awake for shard in range(SHARDS)]
        return sum(map(int, await self._connection.each(keys, lambda batch, key: batch.scard(key))))
