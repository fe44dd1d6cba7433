"""The index of sessions: one list for each shard, by latest commit, which the scripts maintain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.scan import keys_like
from runtime.storage.redis.sessions.known_sessions import Place
from runtime.stores.sessions import SHARDS

_ALL = [ShardKeys(shard) for shard in range(SHARDS)]
_AT_ONCE = 500
_SPARE = 8
"""The extra entries requested of a shard, since the latest sessions are not spread evenly, and those of the last page's
final millisecond appear again.
"""


class SessionIndex:
    """Lists sessions. Those from before there were lists are found by going through all keys, once in a database's
    life."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._whole = False

    async def count(self) -> int:
        """The number of sessions."""
        await self._complete()
        return sum(await self._connection.each([keys.sessions for keys in _ALL], lambda batch, key: batch.zcard(key)))

    async def places(self) -> AsyncIterator[Sequence[Place]]:
        """Every session once, in pages of one shard each. One that starts or goes meanwhile may be missing."""
        await self._complete()
        for keys in _ALL:
            cursor, met = -1, set[str]()
            while cursor:

                async def call(client: Redis, keys: ShardKeys = keys, position: int = max(cursor, 0)) -> Any:
                    return await client.zscan(keys.sessions, position, count=_AT_ONCE)

                cursor, found = await self._connection.retrying(call, keys.sessions)
                new = dict.fromkeys(session for session, _ in found if session not in met)
                met.update(new)
                if new:
                    yield [(keys.shard, SessionId(session)) for session in new]

    async def latest(self, after: str, limit: int) -> Sequence[tuple[str, Place]]:
        """Up to `limit` sessions after a mark, each with its own mark, the most recently committed first."""
        await self._complete()
        before = _order(after) if after else (float("inf"), "")
        found: dict[int, Sequence[tuple[float, str]]] = {}
        incomplete, asked = list(range(SHARDS)), limit // SHARDS + _SPARE
        while incomplete:
            found.update(zip(incomplete, await self._below(before[0], incomplete, asked), strict=True))
            merged = [(entry, shard) for shard, entries in found.items() for entry in entries if entry < before]
            merged.sort(reverse=True)
            last = merged[limit - 1][0] if len(merged) >= limit else (0.0, "")
            incomplete = [shard for shard in incomplete if len(found[shard]) == asked and found[shard][-1] > last]
            asked *= 4
        return [(f"{score:.0f}:{name}", (shard, SessionId(name))) for (score, name), shard in merged[:limit]]

    async def strike(self, place: Place) -> None:
        """Remove a session that does not exist from the list."""
        await self._connection.write("ZREM", ShardKeys(place[0]).sessions, place[1])

    async def _below(self, score: float, shards: Sequence[int], asked: int) -> Sequence[Sequence[tuple[float, str]]]:
        answers = await self._connection.each(
            [_ALL[shard].sessions for shard in shards],
            lambda batch, key: batch.zrevrangebyscore(key, score, "-inf", start=0, num=asked, withscores=True),
        )
        return [[(score, name) for name, score in answer] for answer in answers]

    async def _complete(self) -> None:
        if self._whole:
            return
        marks = [keys.sessions_known for keys in _ALL]
        if not all(await self._connection.each(marks, lambda batch, key: batch.exists(key))):
            async for found in keys_like(self._connection, "{parley:*}:session:*"):
                await self._take_in([_place(key) for key in found])
            for mark in marks:
                await self._connection.write("SET", mark, "1")
        self._whole = True

    async def _take_in(self, places: Sequence[Place]) -> None:
        """Add sessions to the lists, by the times of their latest facts. Listed ones stay where they are."""
        tapes = await self._connection.each(
            [ShardKeys(shard).tapes(session) for shard, session in places], lambda batch, key: batch.smembers(key)
        )
        streams = [
            (place, ShardKeys(place[0]).tape(tape))
            for place, named in zip(places, tapes, strict=True)
            for tape in named
        ]
        newest = await self._connection.each(
            [key for _, key in streams], lambda batch, key: batch.xrevrange(key, count=1)
        )
        times = dict.fromkeys(places, 0)
        for (place, _), entries in zip(streams, newest, strict=True):
            times[place] = max(times[place], *(_milliseconds(fields["t"]) for _, fields in entries), 0)
        for shard in {shard for shard, _ in places}:
            scores = [part for place, at in times.items() if place[0] == shard for part in (at, place[1])]
            await self._connection.write("ZADD", ShardKeys(shard).sessions, "NX", *scores)


def _order(mark: str) -> tuple[float, str]:
    score, _, name = mark.partition(":")
    return float(score), name


def _milliseconds(time: str) -> int:
    try:
        return round(datetime.fromisoformat(time).timestamp() * 1000)
    except ValueError:
        return 0


def _place(key: str) -> Place:
    """The shard and the session of a session's key."""
    tag, _, session = key.partition(":session:")
    return int(tag.removeprefix("{parley:").removesuffix("}")), SessionId(session)
