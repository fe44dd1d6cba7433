"""Sums by hours, in Redis: a hash for each hour, gone after two days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.script import load_script

_ADD = load_script("add", "gateway.features.hours")
_KEPT_S = 2 * 86_400


class RedisHours:
    """Sums by measure. An hour is named by its beginning, such as `2026-01-01T09`, UTC. Raises StorageUnavailable."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def add(self, hour: str, amounts: Mapping[str, float]) -> None:
        """Add to the sums of an hour."""
        pairs = [text for name, amount in amounts.items() for text in (name, repr(amount))]
        await self._connection.run(_ADD, [_key(hour)], [_KEPT_S, *pairs], replicated=False)

    async def sums(self, hours: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """The sums of each hour; a measure that nothing was added to is missing."""
        found = await self._connection.each([_key(hour) for hour in hours], lambda batch, key: batch.hgetall(key))
        return [{str(name): float(amount) for name, amount in sums.items()} for sums in found]


def _key(hour: str) -> str:
    return f"{{parley:hours:{hour}}}"
