"""What nodes know of each other and of the shards, on Redis: leases, shares, the roster, timers.

The server's clock decides when something has run out, and who lives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import methodcaller

from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import (
    FRONT_NEWS,
    FRONTS,
    NODE_NEWS,
    NODES,
    SHARES,
    ShardKeys,
    lease_key,
    shard_of_lease,
)
from runtime.stores.sessions import SHARDS, Lease, LeaseHolder, LivingNodes, SessionTimer

_CLAIM = load_script("share_claim")

_ACQUIRE = load_script("lease_acquire")
_RENEW = load_script("lease_renew")

_ANNOUNCE = load_script("operation/announce_node")
_TELL = load_script("operation/tell_node")
_READ_AT_ONCE = 100

_SET = load_script("timer_set")
_DONE = load_script("timer_done")


class RedisShareStore:
    """Implements `runtime.stores.sessions.ShareStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        words: list[str | int] = [holder.node, _milliseconds(holder), repr(in_use), repr(weight)]
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
            seen = self._connection.histories.under(shard, token)
            commits, entry = seen.commits, seen.entry
        arguments: list[str | int] = [node, token, milliseconds, commits, *entry]
        return int(await self._connection.run(_RENEW, keys, arguments, replicated=False))


class RedisNodeStore:
    """Implements `runtime.stores.sessions.NodeStore`, for nodes or for `fronts`."""

    def __init__(self, connection: RedisConnection, *, fronts: bool = False) -> None:
        self._connection = connection
        self._nodes, self._news = (FRONTS, FRONT_NEWS) if fronts else (NODES, NODE_NEWS)

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        return await self._living(holder.node, _milliseconds(holder))

    async def living(self) -> LivingNodes:
        return await self._living("", 0)

    async def _living(self, node: str, milliseconds: int) -> LivingNodes:
        keys = [self._nodes, self._news]
        news, *found = await self._connection.run(_ANNOUNCE, keys, [node, milliseconds], replicated=False)
        lasts = {node: int(left) / 1000 for node, left in zip(found[::2], found[1::2], strict=True)}
        gone = frozenset(node for node, left_s in lasts.items() if left_s <= 0)
        return LivingNodes({node: left_s for node, left_s in lasts.items() if node not in gone}, news, gone)

    async def leave(self, holder: LeaseHolder, /) -> None:
        arguments: list[str | int] = [holder.node, _milliseconds(holder)]
        await self._connection.run(_TELL, [self._nodes, self._news], arguments, replicated=False)

    async def tell(self) -> None:
        await self._connection.run(_TELL, [self._nodes, self._news], ["", 0], replicated=False)

    async def news(self, after: str, /, *, wait_s: float) -> str:
        answer = await self._connection.read_streams({self._news: after}, wait_s=wait_s, count=_READ_AT_ONCE)
        return next((entries[-1][0] for _, entries in answer if entries), after)


class RedisTimers:
    """Implements `runtime.stores.sessions.SessionTimers`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def set(self, lease: Lease, timer: SessionTimer, seq: int, /) -> bool:
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
        found = await self._connection.read("zrange", ShardKeys(shard).timers, 0, 0, withscores=True)
        return float(found[0][1]) if found else None

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[SessionTimer]:
        key, some = ShardKeys(shard).timers, {"start": 0, "num": limit, "withscores": True}
        found = await self._connection.read("zrangebyscore", key, "-inf", until_s, **some)
        return [SessionTimer(SessionId(session), float(due_s)) for session, due_s in found]

    async def done(self, shard: int, timer: SessionTimer, /) -> None:
        await self._connection.run(_DONE, [ShardKeys(shard).timers], [timer.session, repr(timer.due_s)])


class RedisShardView:
    """Looks at all shards without taking any."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def holders(self) -> Mapping[int, str]:
        """The node of each shard that one holds. Waits while the store is away."""
        leases = [ShardKeys(shard).lease for shard in range(SHARDS)]
        questions = []
        for key in leases:
            questions += [(key, methodcaller("hmget", key, ["node", "expires"])), (key, methodcaller("time"))]
        answers = await self._connection.answers(questions)
        found: dict[int, str] = {}
        for shard, ((node, expires), (seconds, micros)) in enumerate(zip(answers[::2], answers[1::2], strict=True)):
            if node is not None and int(expires) > seconds * 1000 + micros // 1000:
                found[shard] = str(node)
        return found

    async def awake(self) -> int:
        """The number of sessions that have work to do without a further event. Waits while the store is away."""
        keys = [ShardKeys(shard).awake for shard in range(SHARDS)]
        return sum(map(int, await self._connection.each(keys, lambda batch, key: batch.scard(key))))

    async def waiting(self, shards: Collection[int]) -> tuple[int, int]:
        """The numbers of events in the inboxes and of pages in the outboxes of these shards. Waits while the store is
        away.
        """
        keys = [ShardKeys(shard) for shard in shards]
        events = await self._connection.each([key.inbox for key in keys], lambda batch, key: batch.xlen(key))
        pages = await self._connection.each([key.outbox for key in keys], lambda batch, key: batch.scard(key))
        return sum(map(int, events)), sum(map(int, pages))


def _milliseconds(holder: LeaseHolder) -> int:
    return max(1, round(holder.ttl_s * 1000))
