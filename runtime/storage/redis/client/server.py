"""One server: its connections, and whether a replica follows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from redis.asyncio import Redis

from runtime.core.clock import Clock
from runtime.storage.redis.client.commands import COMMAND_LIMIT_S, Commands
from runtime.storage.redis.client.location import Endpoint, Location
from runtime.stores.sessions import SHARDS

_POOL_SIZE = 32
_READERS = 2 * SHARDS
_LOOK_S = 10.0
"""How long it is believed whether replicas follow."""

_LAG_S = 10
"""A replica that was heard of longer ago is one that died without a word, as machines do; others are heard of every
second."""

ALONE_AFTER_S = 20.0
"""How long after its last replica went a server still counts as followed: one that was promoted leaves like one that
died, and what the old primary takes on from then on is lost. Until then it is known which of them it was."""


class Server:
    """`commands` makes single commands, `client` is for other calls, each of which ends within `COMMAND_LIMIT_S`;
    `reader` for reads that wait longer.

    Both clients have bounded pools of connections. Connects with the first call, not before.
    """

    def __init__(self, location: Location, endpoint: Endpoint, clock: Clock) -> None:
        self.endpoint = endpoint
        self.client: Redis = location.client(
            endpoint, size=_POOL_SIZE, connect_s=COMMAND_LIMIT_S, read_s=COMMAND_LIMIT_S
        )
        self.reader: Redis = location.client(endpoint, size=_READERS, connect_s=COMMAND_LIMIT_S, read_s=None)
        self.commands = Commands(self.client, lambda look: self.followed(look=look), self.confirmed)
        self._clock = clock
        self._looked_at: float | None = None
        self._followed_at: float | None = None

    async def followed(self, *, look: bool = False) -> bool:
        """Whether a replica follows this server, or did a moment ago; `look`: not what was found in the last seconds.

        One that was never followed, as far as we know, is alone at once.
        """
        now = self._clock.monotonic()
        if look or self._looked_at is None or now - self._looked_at > _LOOK_S:
            if self._looked_at is not None:
                self._looked_at = now
            if _has_replica(await self.client.info("replication")):
                self._followed_at = now
            self._looked_at = now
        return self._followed_at is not None and now - self._followed_at <= ALONE_AFTER_S

    def confirmed(self) -> None:
        """A replica has told that it has something."""
        self._followed_at = self._clock.monotonic()

    async def hang_up(self) -> None:
        """Drop the idle connections, so that the next call finds out again which server is at this address."""
        await self.client.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        """Drop all connections; calls under way fail."""
        with anyio.CancelScope(shield=True):
            for client in (self.client, self.reader):
                await client.connection_pool.disconnect(inuse_connections=True)
                await client.aclose()

    def __str__(self) -> str:
        host, port = self.endpoint
        return f"{host}:{port}" if port else host


async def command(client: Redis, *parts: str | int) -> Any:
    """The answer to one command."""
    send: Callable[..., Awaitable[Any]] = client.execute_command
    return await send(*parts)


def _has_replica(replication: Mapping[str, Any]) -> bool:
    return any(
        isinstance(value, Mapping) and value.get("state") == "online" and int(value.get("lag", 0)) <= _LAG_S
        for name, value in replication.items()
        if name.startswith("slave")
    )
