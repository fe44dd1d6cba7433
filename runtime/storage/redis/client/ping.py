"""A test whether a server answers, for `parley check`."""

from __future__ import annotations

from runtime.core.errors import StorageUnavailable
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.location import shown
from runtime.storage.redis.client.server_check import examine

_LIMIT_S = 5.0


async def ping(url: str) -> str:
    """The server at `url` with its version, and a line for each kind of data that may be lost.

    Raises StorageUnavailable, and ConfigError for unfit servers; their texts do not repeat the password.
    """
    try:
        async with open_connection(url, patience_s=_LIMIT_S) as connection:
            fitness = await examine(connection)
    except StorageUnavailable as error:
        raise StorageUnavailable(f"No Redis or Valkey answers as it should at {shown(url)}: {error}") from error
    return "\n".join([fitness.servers, *(f"warning: {warning}" for warning in fitness.warnings)])
