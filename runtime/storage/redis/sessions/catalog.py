"""Administration of all sessions on Redis."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from runtime.core.errors import ContentLocked, SessionExists
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import address_to_json, to_json
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.fact_form import each_of, write_facts
from runtime.storage.redis.sessions.known_sessions import Place, SessionPlaces, keys_like, known_sessions
from runtime.storage.redis.sessions.removal import ArchivedSessions, SessionRemoval
from runtime.storage.redis.sessions.tapes import RedisTapes
from runtime.stores.archive import SessionArchive
from runtime.stores.catalog import KnownSession, SessionPage, WholeSession, busy_session
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS, SessionRecord
from runtime.tape.tape import opened

_ALL = [ShardKeys(shard) for shard in range(SHARDS)]
_AT_ONCE = 500
_SPARE = 8
"""The extra entries requested of a shard, since the latest sessions are not spread evenly, and those of the last page's
final millisecond appear again.
"""

_INSERT = load_script("sessions/insert")


class RedisSessionCatalog:
    """Implements `runtime.stores.catalog.SessionCatalog`. Sessions from before there were lists are found by going
    through all keys, once in a database's life."""

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None = None) -> None:
        self._connection = connection
        self._cold = ArchivedSessions(connection, archive)
        self._places = SessionPlaces(connection)
        self._tapes = RedisTapes(connection, self._places)
        self._whole = False
        self._removal = SessionRemoval(connection, self._places, self._tapes)

    async def sessions(self) -> AsyncIterator[KnownSession]:
        await self._complete()
        for keys in _ALL:
            cursor, met = -1, set[str]()
            while cursor:
                cursor, found = await self._connection.read("zscan", keys.sessions, max(cursor, 0), count=_AT_ONCE)
                new = dict.fromkeys(session for session, _ in found if session not in met)
                met.update(new)
                for known in await self._known([(keys.shard, SessionId(session)) for session in new]):
                    yield known

    async def page(self, after: str = "", /, *, limit: int) -> SessionPage:
        listed = await self._latest(after, limit)
        known = await self._known([place for _, place in listed])
        found = {one.record.id: one for one in known}
        there = [(found[session], mark) for mark, (_, session) in listed if session in found]
        next_ = listed[-1][0] if len(listed) == limit else ""
        return SessionPage([known for known, _ in there], next_, [mark for _, mark in there])

    async def count(self) -> int:
        await self._complete()
        return sum(await self._connection.each([keys.sessions for keys in _ALL], lambda batch, key: batch.zcard(key)))

    async def _known(self, places: Sequence[Place]) -> list[KnownSession]:
        """The existing ones of these sessions; the others are removed from the list."""
        known = await known_sessions(self._connection, places)
        for place in places:
            if place[1] not in known:
                await self._connection.write("ZREM", ShardKeys(place[0]).sessions, place[1])
        return list(known.values())

    async def find(self, session: SessionId, /) -> KnownSession | None:
        keys = await self._places.keys(session)
        if keys is None:
            return None
        found = await known_sessions(self._connection, [(keys.shard, session)])
        if not found:
            self._places.forget(session)
        return found.get(session)

    async def whole(self, session: SessionId, /) -> WholeSession | None:
        found = await self.find(session)
        if found is None:
            return None
        if found.record.archived:
            return replace(await self._cold.whole(session), record=found.record)
        facts = [opened(fact) async for fact in self._tapes.read_session(session, until=found.record.seq)]
        return WholeSession(found.record, found.awake, found.pages, facts)

    async def delete(self, session: SessionId, /, *, force: bool = False) -> bool:
        found = await self.find(session)
        if found is not None and found.busy and not force:
            raise busy_session(session, found.node)
        await self._cold.forget(session)
        there = await self._removal.remove(session, force=force)
        await self._cold.forget(session)  # it may have been put away between the two
        return there

    async def put_away(self, session: SessionId, /) -> bool:
        await self._removal.forget_forks(session)
        found = await self.find(session)
        try:
            whole = await self.whole(session)
        except ContentLocked:
            return False
        if found is None or whole is None or found.record.archived or found.state == "working":
            return False
        if not await self._cold.put_away(found, whole):
            return False
        if found.record.parent is not None:
            await self._removal.strike(found.record.parent.session, session)
        return True

    async def insert(self, whole: WholeSession, /) -> None:
        record = whole.record
        keys, session = ShardKeys(shard_of(record.address.key)), record.id
        if await self.find(session) is not None:
            raise _exists(session)
        await self._refuse_taken(record)
        await self._clear(keys, session)
        self._places.expect(session, record.address.key)
        await write_facts(self._places, each_of(whole.facts), session, keys, keys.tape)
        ended = "1" if record.ended else "0"
        place = [record.address.key, address_to_json(record.address), record.program, record.started_at.isoformat()]
        outcome, current = await self._connection.run(
            _INSERT,
            [keys.session(session), keys.awake, keys.outbox, keys.current, keys.sessions],
            [
                uuid.uuid4().hex,
                session,
                *place,
                record.seq,
                ended,
                "1" if whole.awake else "",
                round(max([record.started_at, *(fact.at for fact in whole.facts)]).timestamp() * 1000),
                *(to_json([session, page]) for page in sorted(whole.pages)),
            ],
        )
        if outcome == "taken":
            await self._clear(keys, session)
            raise _taken(record, current)
        if outcome == "exists":
            raise _exists(session)

    async def replace(self, whole: WholeSession, /, *, force: bool = False) -> None:
        await self._refuse_taken(whole.record)
        await self.delete(whole.record.id, force=force)
        await self.insert(whole)

    async def _refuse_taken(self, record: SessionRecord) -> None:
        if record.ended:
            return
        conversation = record.address.key
        current = await self._connection.read("hget", ShardKeys(shard_of(conversation)).current, conversation)
        if current not in (None, record.id):
            raise _taken(record, current)

    async def _clear(self, keys: ShardKeys, session: SessionId) -> None:
        """Remove the remains of an interrupted insertion."""
        while not await self._removal.sweep(keys, session):
            pass  # it has other tapes or large values by now

    async def _latest(self, after: str, limit: int) -> Sequence[tuple[str, Place]]:
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


def _exists(session: SessionId) -> SessionExists:
    return SessionExists(f"There is a session {session} already; --replace puts another in its place.")


def _taken(record: SessionRecord, current: str) -> SessionExists:
    return SessionExists(
        f"The conversation {record.address.key} has another session now, {current}; nothing was taken in. Delete that "
        f"one first (parley sessions delete {current}), or end it with its program."
    )
