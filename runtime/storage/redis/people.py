"""Who was paired, by platform: one set each."""

from __future__ import annotations

from collections.abc import Collection

from redis.asyncio import Redis

from runtime.storage.redis.connection import RedisConnection


class RedisPeopleStore:
    """See `gateway.access.PeopleStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def people(self, platform: str, /) -> Collection[str]:
        """Everybody who was paired there."""

        async def call(client: Redis) -> set[str]:
            return {str(person) for person in await client.smembers(_key(platform))}

        return await self._connection.retrying(call)

    async def add(self, platform: str, person: str, /) -> None:
        """Keep that `person` was paired; doing so twice changes nothing."""

        async def call(client: Redis) -> int:
            return int(await client.sadd(_key(platform), person))

        await self._connection.retrying(call)


def _key(platform: str) -> str:
    return f"{{parley:access}}:people:{platform}"
