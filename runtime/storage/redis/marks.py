"""Up to which message each conversation of a platform was taken: one hash a platform."""

from __future__ import annotations

from collections.abc import Mapping

from redis.asyncio import Redis

from runtime.storage.redis.connection import RedisConnection


class RedisReadMarks:
    """See `gateway.catalog.ReadMarks`. `platform` names whose conversations they are."""

    def __init__(self, connection: RedisConnection, platform: str) -> None:
        self._connection = connection
        self._key = f"{{parley:marks}}:{platform}"

    async def all(self) -> Mapping[str, str]:
        """The id of the last message taken, by conversation."""

        async def call(client: Redis) -> dict[str, str]:
            return {str(name): str(message) for name, message in (await client.hgetall(self._key)).items()}

        return await self._connection.retrying(call)

    async def put(self, conversation: str, message: str, /) -> None:
        """This message of the conversation was taken, and all before it."""

        async def call(client: Redis) -> int:
            return int(await client.hset(self._key, conversation, message))

        await self._connection.retrying(call)
