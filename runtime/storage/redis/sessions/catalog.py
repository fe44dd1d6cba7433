"""Administration of all sessions on Redis."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import ContentLocked, SessionExists
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import address_to_json, to_json
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.sessions.archival import ArchivedSessions
from runtime.storage.redis.sessions.fact_writing import write_facts
from runtime.storage.redis.sessions.index import SessionIndex
from runtime.storage.redis.sessions.known_sessions import Place, known_sessions
from runtime.storage.redis.sessions.locations import SessionPlaces
from runtime.storage.redis.sessions.removal import SessionRemoval
from runtime.storage.redis.sessions.tapes import RedisTapes
from runtime.stores.archive import Archive
from runtime.stores.catalog import KnownSession, SessionPage, WholeSession, busy_session
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact, opened

_INSERT = load_script("sessions/insert")


class RedisSessionCatalog:
    """Implements `runtime.stores.catalog.SessionCatalog`."""

    def __init__(self, connection: RedisConnection, archive: Archive | None = None) -> None:
        self._connection = connection
        self._cold = ArchivedSessions(connection, archive)
        self._places = SessionPlaces(connection)
        self._tapes = RedisTapes(connection, self._places)
        self._index = SessionIndex(connection)
        self._removal = SessionRemoval(connection, self._places, self._tapes)

    async def sessions(self) -> AsyncIterator[KnownSession]:
        async for places in self._index.places():
            for known in await self._known(places):
                yield known

    async def page(self, after: str = "", /, *, limit: int) -> SessionPage:
        listed = await self._index.latest(after, limit)
        known = await self._known([place for _, place in listed])
        found = {one.record.id: one for one in known}
        there = [(found[session], mark) for mark, (_, session) in listed if session in found]
        next_ = listed[-1][0] if len(listed) == limit else ""
        return SessionPage([known for known, _ in there], next_, [mark for _, mark in there])

    async def count(self) -> int:
        return await self._index.count()

    async def _known(self, places: Sequence[Place]) -> list[KnownSession]:
        """The existing ones of these sessions; the others are removed from the list."""
        known = await known_sessions(self._connection, places)
        for place in places:
            if place[1] not in known:
                await self._index.strike(place)
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
        await self._refuse_second(record)
        await self._clear(keys, session)
        self._places.expect(session, record.address.key)
        await write_facts(self._places, _each(whole.facts), session, keys, keys.tape)
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

    async def _refuse_second(self, record: SessionRecord) -> None:
        if await self.find(record.id) is not None:
            raise _exists(record.id)
        await self._refuse_taken(record)

    async def _refuse_taken(self, record: SessionRecord) -> None:
        if record.ended:
            return
        key = ShardKeys(shard_of(record.address.key)).current

        async def call(client: Redis) -> Any:
            return await client.hget(key, record.address.key)

        current = await self._connection.retrying(call, key)
        if current not in (None, record.id):
            raise _taken(record, current)

    async def _clear(self, keys: ShardKeys, session: SessionId) -> None:
        """Remove the remains of an interrupted insertion."""
        while not await self._removal.sweep(keys, session):
            pass  # it has other tapes or large values by now


async def _each(facts: Sequence[Fact]) -> AsyncIterator[Fact]:
    for fact in facts:
        yield fact


def _exists(session: SessionId) -> SessionExists:
    return SessionExists(f"There is a session {session} already; --replace puts another in its place.")


def _taken(record: SessionRecord, current: str) -> SessionExists:
    return SessionExists(
        f"The conversation {record.address.key} has another session now, {current}; nothing was taken in. Delete that "
        f"one first (parley sessions delete {current}), or end it with its program."
    )
