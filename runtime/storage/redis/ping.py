"""Whether a server answers, for people who check their settings."""

from __future__ import annotations

from contextlib import aclosing

from redis.asyncio import Redis
from redis.exceptions import RedisError

from runtime.core.errors import StorageUnavailable

_LIMIT_S = 5.0


async def ping(url: str) -> str:
    """What answers at `url`, with its version. Raises StorageUnavailable; its text does not repeat the password."""
    try:
        async with aclosing(Redis.from_url(url, socket_timeout=_LIMIT_S, socket_connect_timeout=_LIMIT_S)) as client:
            await client.ping()
            server = await client.info("server")
    except (RedisError, OSError, ValueError) as error:
        raise StorageUnavailable(f"No Redis or Valkey answers at {_without_password(url)}: {error}") from error
    if "valkey_version" in server:
        return f"Valkey {server['valkey_version']} answers"
    return f"Redis {server['redis_version']} answers"


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
