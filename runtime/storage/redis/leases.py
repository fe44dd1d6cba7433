"""Leases on Redis; the server's clock decides when one has run out."""

from __future__ import annotations

from collections.abc import Collection

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import SHARES, ShardKeys, lease_key, shard_of_lease
from runtime.storage.redis.client.script import load_script
from runtime.stores.sessions import LeaseHolder

_CLAIM = load_script("share_claim")

_ACQUIRE = load_script("lease_acquire")
_RENEW = load_script("lease_renew")


class RedisShareStore:
    """Implements `runtime.stores.sessions.ShareStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        milliseconds = max(1, round(holder.ttl_s * 1000))
        words: list[str | int] = [holder.node, milliseconds, repr(in_use), repr(weight)]
        return float(await self._connection.run(_CLAIM, [SHARES], words, replicated=False))

    async def leave(self, holder: LeaseHolder, /) -> None:
        await self._connection.write("HDEL", SHARES, holder.node)


class RedisLeaseStore:
    """Implements `runtime.stores.sessions.LeaseStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def acquire(self, name: str, holder: LeaseHolder, /, *, living: Collection[str] = ()) -> int | None:
        arguments: list[str | int] = [holder.node, _milliseconds(holder), *living]
        token: int = await self._connection.run(_ACQUIRE, [lease_key(name)], arguments)
        shard = shard_of_lease(name)
        if token and shard is not None:
            self._connection.histories.begin(shard, token)
        return token or None

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        """Also when the lease has run out, as long as nobody has taken it.

        False as well when the server knows less of the shard than we do: a replica has taken its place, or its disk
        was read again, and the last commits are lost. Who acquires the lease then finds what there is.
        """
        kept: int = await self._renew(name, holder.node, token, _milliseconds(holder))
        return kept == 1

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        await self._renew(name, holder.node, token, 0)

    async def _renew(self, name: str, node: str, token: int, milliseconds: int) -> int:
        keys, commits, entry = [lease_key(name)], 0, (0, 0)
        shard = shard_of_lease(name)
        if shard is not None:
            keys.append(ShardKeys(shard).inbox)
            commits = self._connection.histories.commits(shard, token)
            entry = self._connection.histories.entry(shard, token)
        arguments: list[str | int] = [node, token, milliseconds, commits, *entry]
        return int(await self._connection.run(_RENEW, keys, arguments, replicated=False))


def _milliseconds(holder: LeaseHolder) -> int:
    return max(1, round(holder.ttl_s * 1000))
