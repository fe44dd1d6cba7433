"""Timers on Redis: one sorted set for each shard, by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.stores.sessions import Lease, Timer

_SET = load_script("timer_set")
_DONE = load_script("timer_done")


class RedisTimers:
    """Implements `runtime.stores.sessions.Timers`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def set(self, lease: Lease, timer: Timer, seq: int, /) -> bool:
        return await self._write(lease, timer.session, seq, repr(timer.due_s))

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        return await self._write(lease, session, seq, "")

    async def _write(self, lease: Lease, session: SessionId, seq: int, due: str) -> bool:
        keys = ShardKeys(lease.shard)
        outcome, found = await self._connection.run(
            _SET, [keys.lease, keys.session(session), keys.awake, keys.timers], [lease.token, session, seq, due]
        )
        if outcome == "lease":
            raise LeaseLost(f"Shard {lease.shard} was taken over: token {found}, ours is {lease.token}.")
        return bool(outcome == "ok")

    async def first(self, shard: int, /) -> float | None:
        key = ShardKeys(shard).timers

        async def call(client: Redis) -> Any:
            return await client.zrange(key, 0, 0, withscores=True)

        found = await self._connection.retrying(call, key)
        return float(found[0][1]) if found else None

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[Timer]:
        key = ShardKeys(shard).timers

        async def call(client: Redis) -> Any:
            return await client.zrangebyscore(key, "-inf", until_s, start=0, num=limit, withscores=True)

        return [
            Timer(SessionId(session), float(due_s)) for session, due_s in await self._connection.retrying(call, key)
        ]

    async def done(self, shard: int, timer: Timer, /) -> None:
        await self._connection.run(_DONE, [ShardKeys(shard).timers], [timer.session, repr(timer.due_s)])
