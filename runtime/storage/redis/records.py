"""Small durable tables of texts: one hash each."""

from __future__ import annotations

from collections.abc import Mapping

from redis.asyncio import Redis

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.script import load_script

_CHANGE = load_script("records_change")


class RedisRecords:
    """See `adapters.records.Records`. `table` is the table's name, such as `marks:discord`."""

    def __init__(self, connection: RedisConnection, table: str) -> None:
        self._connection = connection
        self._key = f"{{parley:{table}}}"

    @property
    def key(self) -> str:
        """The key of the table's hash."""
        return self._key

    async def all(self) -> Mapping[str, str]:
        """Everything in the table."""

        async def call(client: Redis) -> dict[str, str]:
            return {str(name): str(value) for name, value in (await client.hgetall(self._key)).items()}

        return await self._connection.retrying(call, self._key)

    async def get(self, name: str, /) -> str | None:
        """The text under this name."""
        value = await self._connection.ask("HGET", self._key, name)
        return None if value is None else str(value)

    async def put(self, name: str, value: str, /) -> None:
        """Keep `value`, in place of what was there."""
        await self._connection.write("HSET", self._key, name, value)

    async def put_first(self, name: str, value: str, /) -> str:
        """Keep `value` unless something is there; what is there."""
        await self._connection.write("HSETNX", self._key, name, value)
        return await self.get(name) or value

    async def remove(self, name: str, /) -> None:
        """Forget it."""
        await self._connection.write("HDEL", self._key, name)

    async def change(self, changes: Mapping[str, tuple[str | None, str | None]], /) -> bool:
        arguments = [part for name, (now, wanted) in changes.items() for part in (name, _field(now), _field(wanted))]
        return bool(await self._connection.run(_CHANGE, [self._key], arguments))


def _field(value: str | None) -> str:
    return "" if value is None else f"={value}"
