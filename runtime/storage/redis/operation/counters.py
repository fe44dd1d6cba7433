"""Sums that expire: the use by people and conversations, in windows of time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script

_ADD = load_script("operation/add_to_counter")


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


class RedisCounters:
    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        """Add to a sum, once."""
        keys = [_key(name), f"{_key(name)}:once:{once}"]
        return float(await self._connection.run(_ADD, keys, [repr(amount), ttl_s], replicated=False))

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        """Several sums, each of which may be on another node of a cluster."""
        found = await self._connection.each([_key(name) for name in names], lambda batch, key: batch.get(key))
        return [float(value or 0) for value in found]


def _key(name: str) -> str:
    return f"{{parley:count:{name}}}"
