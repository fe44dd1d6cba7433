"""Moving sessions into the archive and back: their facts move, their records stay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import ArchiveUnavailable
from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding.codec import to_json
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.sessions.fact_writing import write_facts
from runtime.storage.redis.sessions.locations import SessionPlaces
from runtime.stores.archive import Archive
from runtime.stores.catalog import KnownSession, WholeSession
from runtime.stores.inbox import shard_of
from runtime.tape.tape import Fact

_ARCHIVE = load_script("sessions/archive")
_RETURN = load_script("sessions/return")

_ARCHIVED = "archived"
"""The field of a session's record that marks it as archived."""


class ArchivedSessions:
    """Moves sessions between the database and the archive. Each move can be called again after it was broken off.
    Raises ArchiveUnavailable, and StorageUnavailable.

    A session is in the archive before its facts leave the database. The archive keeps what came back, until it is put
    away again or deleted.
    """

    def __init__(self, connection: RedisConnection, archive: Archive | None) -> None:
        self._connection = connection
        self._archive = archive
        self._places = SessionPlaces(connection)

    async def put_away(self, known: KnownSession, whole: WholeSession) -> bool:
        """Move a session's facts to the archive; False when the session is working, or another continues it."""
        keys, session = ShardKeys(shard_of(known.record.address.key)), known.record.id
        await self._kept(session).put(whole)
        tapes, values = await self._contents(keys, session)
        names = [
            keys.session(session),
            keys.awake,
            keys.outbox,
            keys.timers,
            keys.tapes(session),
            keys.forks(session),
            keys.snapshot(session),
            keys.anchors(session),
            keys.values(session),
            *map(keys.tape, tapes),
            *map(keys.early, tapes),
            *map(keys.value, values),
        ]
        note = to_json([known.last_at.isoformat(), known.size_bytes])
        outcome = await self._connection.run(_ARCHIVE, names, [session, whole.record.seq, len(tapes), note])
        if outcome == "gone":  # deleted since it was read
            await self.forget(session)
        return bool(outcome == "ok")

    async def bring_back(self, shard: int, session: SessionId) -> None:
        """Move a session's facts into the database, unless it was deleted or brought back meanwhile.

        Raises ArchiveUnavailable when the archive does not have them.
        """
        keys, whole = ShardKeys(shard), await self.whole(session)
        await write_facts(self._places, _each(whole), session, keys, keys.tape, _ARCHIVED)
        await self._connection.run(_RETURN, [keys.session(session)], [])

    async def whole(self, session: SessionId) -> WholeSession:
        """An archived session. Raises ArchiveUnavailable if the archive does not have it."""
        found = await self._kept(session).get(session)
        if found is None:
            raise ArchiveUnavailable(
                f"Session {session} was moved into an archive, but not into the one that retention.archive_url names."
            )
        return found

    async def forget(self, session: SessionId) -> None:
        """Remove a session from the archive, if it is there."""
        if self._archive is not None:
            await self._archive.remove(session)

    def _kept(self, session: SessionId) -> Archive:
        if self._archive is None:
            raise ArchiveUnavailable(
                f"Session {session} was moved into an archive, but retention.archive_url names none."
            )
        return self._archive

    async def _contents(self, keys: ShardKeys, session: SessionId) -> tuple[list[TapeId], list[str]]:
        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                batch.smembers(keys.tapes(session))
                batch.smembers(keys.values(session))
                return await batch.execute()

        tapes, values = await self._connection.retrying(call, keys.lease)
        return [TapeId(tape) for tape in sorted(tapes)], sorted(values)


async def _each(whole: WholeSession) -> AsyncIterator[Fact]:
    for fact in whole.facts:
        yield fact
