"""Leases on Redis; the server's clock decides when one has run out."""

from __future__ import annotations

from runtime.sessions.store import LeaseHolder
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.keys import lease_key
from runtime.storage.redis.script import load_script

_ACQUIRE = load_script("lease_acquire")
_RENEW = load_script("lease_renew")


class RedisLeaseStore:
    """Implements `runtime.sessions.store.LeaseStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def acquire(self, name: str, holder: LeaseHolder, /) -> int | None:
        token: int = await self._connection.run(_ACQUIRE, [lease_key(name)], [holder.node, _milliseconds(holder)])
        return token or None

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        """Also when the lease has run out, as long as nobody has taken it."""
        kept: int = await self._connection.run(_RENEW, [lease_key(name)], [holder.node, token, _milliseconds(holder)])
        return kept == 1

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        await self._connection.run(_RENEW, [lease_key(name)], [holder.node, token, 0])


def _milliseconds(holder: LeaseHolder) -> int:
    return max(1, round(holder.ttl_s * 1000))
