"""All sessions on Redis, looked after from outside."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import SessionExists
from runtime.core.ids import SessionId
from runtime.sessions.catalog import KnownSession, WholeSession, busy_session
from runtime.sessions.inbox import shard_of
from runtime.sessions.store import SessionRecord
from runtime.storage.codec import address_to_json, to_json
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.fact_writing import write_facts
from runtime.storage.redis.keys import ShardKeys
from runtime.storage.redis.removal import SessionRemoval
from runtime.storage.redis.scan import keys_like
from runtime.storage.redis.script import load_script
from runtime.storage.redis.session_places import RECORD_FIELDS, SessionPlaces, record_from
from runtime.storage.redis.session_store import RedisSessionStore
from runtime.storage.redis.tapes import RedisTapes
from runtime.tape.tape import Fact

_INSERT = load_script("session_insert")


class RedisSessionCatalog:
    """Implements `runtime.sessions.catalog.SessionCatalog`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._places = SessionPlaces(connection)
        self._tapes = RedisTapes(connection, self._places)
        self._store = RedisSessionStore(connection)
        self._removal = SessionRemoval(connection, self._places, self._tapes)

    async def sessions(self) -> AsyncIterator[KnownSession]:
        known: set[str] = set()
        async for page in keys_like(self._connection, "{parley:*}:session:*"):
            new = [key for key in page if key not in known]
            known.update(new)
            for key in new:
                shard, session = _place(key)
                found = await self._known(shard, session)
                if found is not None:
                    yield found

    async def find(self, session: SessionId, /) -> KnownSession | None:
        keys = await self._places.keys(session)
        found = None if keys is None else await self._known(keys.shard, session)
        if found is None:
            self._places.forget(session)
        return found

    async def whole(self, session: SessionId, /) -> WholeSession | None:
        found = await self.find(session)
        if found is None:
            return None
        facts = [fact async for fact in self._tapes.read_session(session, until=found.record.seq)]
        return WholeSession(found.record, found.awake, found.pages, facts)

    async def delete(self, session: SessionId, /, *, force: bool = False) -> bool:
        found = await self.find(session)
        if found is not None and found.busy and not force:
            raise busy_session(session, found.node)
        return await self._removal.remove(session, force=force)

    async def insert(self, whole: WholeSession, /) -> None:
        record = whole.record
        keys, session = ShardKeys(shard_of(record.address.key)), record.id
        await self._refuse_second(record)
        await self._clear(keys, session)
        await write_facts(self._connection, _each(whole.facts), session, keys, keys.tape)
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

    async def _refuse_second(self, record: SessionRecord) -> None:
        if await self.find(record.id) is not None:
            raise _exists(record.id)
        current = await self._store.current(shard_of(record.address.key), record.address.key)
        if current is not None and not record.ended:
            raise _taken(record, current.id)

    async def _clear(self, keys: ShardKeys, session: SessionId) -> None:
        """Remove what a broken-off insertion left."""
        tapes = await self._removal.tapes(keys, session)
        left = [
            keys.tapes(session),
            keys.snapshot(session),
            keys.anchors(session),
            *map(keys.tape, tapes),
            *map(keys.early, tapes),
        ]
        await self._connection.write("UNLINK", *left)

    async def _known(self, shard: int, session: SessionId) -> KnownSession | None:
        keys = ShardKeys(shard)

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                batch.hmget(keys.session(session), RECORD_FIELDS)
                batch.sismember(keys.awake, session)
                batch.smembers(keys.outbox)
                batch.smembers(keys.tapes(session))
                batch.hmget(keys.lease, ["node", "expires"])
                batch.time()
                return await batch.execute()

        values, awake, outbox, tapes, lease, time = await self._connection.retrying(call, keys.lease)
        record = record_from(session, values)
        if record is None:
            return None
        pages = frozenset(page for owner, page in map(json.loads, outbox) if owner == session)
        last_at, size_bytes = await self._measure([keys.tape(tape) for tape in tapes])
        node, expires = lease
        serving = node if node is not None and int(expires) > time[0] * 1000 + time[1] // 1000 else None
        return KnownSession(record, bool(awake), pages, max(last_at, record.started_at), size_bytes, serving)

    async def _measure(self, tapes: Sequence[str]) -> tuple[datetime, int]:
        """When the newest fact was written, and how many bytes the tapes take."""

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=False) as batch:
                for tape in tapes:
                    batch.xrevrange(tape, count=1)
                for tape in tapes:
                    batch.memory_usage(tape)
                return await batch.execute()

        answers = await self._connection.retrying(call, tapes[0]) if tapes else []
        newest: Sequence[Sequence[tuple[str, Mapping[str, str]]]] = answers[: len(tapes)]
        times = [datetime.fromisoformat(entries[0][1]["t"]) for entries in newest if entries]
        return max(times, default=_LONG_AGO), sum(size or 0 for size in answers[len(tapes) :])


_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


async def _each(facts: Sequence[Fact]) -> AsyncIterator[Fact]:
    for fact in facts:
        yield fact


def _place(key: str) -> tuple[int, SessionId]:
    """Shard and session of a session's key."""
    tag, _, session = key.partition(":session:")
    return int(tag.removeprefix("{parley:").removesuffix("}")), SessionId(session)


def _exists(session: SessionId) -> SessionExists:
    return SessionExists(f"There is a session {session} already; --replace puts another in its place.")


def _taken(record: SessionRecord, current: str) -> SessionExists:
    return SessionExists(
        f"The conversation {record.address.key} has another session now, {current}; nothing was taken in. Delete that "
        f"one first (parley sessions delete {current}), or end it with its program."
    )
