"""A test whether a server answers, for people who check their settings."""

from __future__ import annotations

from runtime.core.errors import StorageUnavailable
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.location import shown
from runtime.storage.redis.client.server_check import examine

_LIMIT_S = 5.0


async def ping(url: str) -> str:
    """What answers at `url`, with its version, and a line for each thing that may be lost there.

    Raises StorageUnavailable, and ConfigError for what will not do; their texts do not repeat the password.
    """
    try:
        async with open_connection(url, patience_s=_LIMIT_S) as connection:
            fitness = await examine(connection)
    except StorageUnavailable as error:
        raise StorageUnavailable(f"No Redis or Valkey answers as it should at {shown(url)}: {error}") from error
    return "\n".join([fitness.servers, *(f"warning: {warning}" for warning in fitness.warnings)])
