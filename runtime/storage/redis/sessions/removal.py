"""Sessions that leave Redis, for the archive or for good.

One in the archive leaves its record. Sessions that continue a removed one first get copies of its facts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from runtime.core.errors import ArchiveUnavailable, SessionBusy
from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding.codec import to_json
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.fact_form import each_of, write_facts
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.storage.redis.sessions.tapes import RedisTapes
from runtime.stores.archive import SessionArchive
from runtime.stores.catalog import KnownSession, WholeSession, busy_session
from runtime.stores.inbox import shard_of

_DELETE = load_script("sessions/delete")
_ADOPT = load_script("sessions/adopt")
_SWEEP = load_script("sessions/sweep")

_BEGINNING_MS = 60_000
"""The age from which a recorded fork that does not exist counts as failed: its node died in between."""

_ARCHIVE = load_script("sessions/archive")
_RETURN = load_script("sessions/return")

_ARCHIVED = "archived"
"""The field of a session's record that marks it as archived."""


class _Fork(Struct, frozen=True):
    """A session recorded as continuing another. `settled`: recorded so long ago that it either exists or never will."""

    id: SessionId
    keys: ShardKeys
    settled: bool


class SessionRemoval:
    """Removes sessions. Can be called again after it was broken off."""

    def __init__(self, connection: RedisConnection, places: SessionPlaces, tapes: RedisTapes) -> None:
        self._connection = connection
        self._places = places
        self._tapes = tapes

    async def remove(self, session: SessionId, *, force: bool) -> bool:
        """Remove a session; False if there is none. Raises SessionBusy."""
        keys = await self._places.keys(session)
        if keys is None:
            return False
        while True:
            parent = await self._connection.read("hget", keys.session(session), "parent")
            await self._free_forks(keys, session, force)
            tapes, contents = await _contents(self._connection, keys, session)
            which = [session, "1" if force else "", len(tapes), keys.model_call("")]
            outcome, node = await self._connection.run(_DELETE, [*_names(keys, session), *contents], which)
            if outcome == "busy":
                raise busy_session(session, node)
            if outcome != "grown":
                break
        await self._connection.write("ZREM", keys.timers, session)
        self._places.forget(session)
        if parent is not None:
            await self.strike(SessionId(parent), session)
        return True

    async def sweep(self, keys: ShardKeys, session: SessionId) -> bool:
        """Remove the remains of a session without a record; False if it has changed meanwhile."""
        tapes, contents = await _contents(self._connection, keys, session)
        names = [
            keys.session(session),
            keys.tapes(session),
            keys.snapshot(session),
            keys.anchors(session),
            keys.values(session),
            *contents,
        ]
        return bool(await self._connection.run(_SWEEP, names, [len(tapes)]))

    async def forget_forks(self, session: SessionId) -> None:
        """Delete the records of sessions that do not continue this one, or never did, because nobody could
        report that.
        """
        keys = await self._places.keys(session)
        for fork in () if keys is None else await self._forks(keys, session):
            seq, parent, _ = await self._branch(fork.keys, fork.id)
            if (fork.settled if seq is None else parent != session) and keys is not None:
                await self._connection.write("HDEL", keys.forks(session), fork.id)

    async def _free_forks(self, keys: ShardKeys, session: SessionId, force: bool) -> None:
        """Give every session that continues this one its own copy of the shared facts."""
        for fork in await self._forks(keys, session):
            there = await self._free(fork.keys, fork.id, session)
            if not (there or force or fork.settled):
                raise SessionBusy(
                    f"The session {fork.id} is about to continue {session}; nothing was changed. Try again in a minute."
                )
            await self.strike(session, fork.id)

    async def _forks(self, keys: ShardKeys, session: SessionId) -> Sequence[_Fork]:
        noted: Mapping[str, str]
        noted, (seconds, micros) = await self._connection.read_at_once(
            keys.lease, ("hgetall", keys.forks(session)), ("time",)
        )
        now_ms = seconds * 1000 + micros // 1000
        found = []
        for fork, text in noted.items():
            shard, since_ms = json.loads(text)
            found.append(_Fork(SessionId(fork), ShardKeys(shard), now_ms - since_ms >= _BEGINNING_MS))
        return found

    async def _branch(self, keys: ShardKeys, session: SessionId) -> Sequence[str | None]:
        """A session's last fact, its parent, and the parent's fact that it continues."""
        found: Sequence[str | None] = await self._connection.read(
            "hmget", keys.session(session), ["seq", "parent", "parent_seq"]
        )
        return found

    async def _free(self, keys: ShardKeys, fork: SessionId, parent: SessionId) -> bool:
        """Make a fork independent; False when there is no such session."""
        seq, its_parent, parent_seq = await self._branch(keys, fork)
        if seq is not None and its_parent == parent:
            facts = self._tapes.read_session(fork, until=int(parent_seq or 0))
            tapes = await write_facts(self._places, facts, fork, keys, keys.early, "parent")
            if tapes is not None:
                await self._connection.run(_ADOPT, [keys.session(fork), keys.tapes(fork)], [parent, *sorted(tapes)])
        return seq is not None

    async def strike(self, parent: SessionId, fork: SessionId) -> None:
        """Delete the record that a session continues another."""
        keys = await self._places.keys(parent)
        if keys is None:
            return
        await self._connection.write("HDEL", keys.forks(parent), fork)


def _names(keys: ShardKeys, session: SessionId) -> list[str]:
    """The keys that name a session, besides those of what it contains."""
    return [
        keys.lease,
        keys.session(session),
        keys.awake,
        keys.outbox,
        keys.current,
        keys.tapes(session),
        keys.forks(session),
        keys.snapshot(session),
        keys.sessions,
        keys.news,
        keys.anchors(session),
        keys.values(session),
        keys.model_calls,
    ]


class ArchivedSessions:
    """Moves sessions between the database and the archive. Each move can be called again after it was broken off.
    Raises ArchiveUnavailable, and StorageUnavailable.

    A session is in the archive before its facts leave the database. The archive keeps what came back, until it is put
    away again or deleted.
    """

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None) -> None:
        self._connection = connection
        self._archive = archive
        self._places = SessionPlaces(connection)

    async def put_away(self, known: KnownSession, whole: WholeSession) -> bool:
        """Move a session's facts to the archive; False when the session is working, or another continues it."""
        keys, session = ShardKeys(shard_of(known.record.address.key)), known.record.id
        await self._kept(session).put(whole)
        tapes, contents = await _contents(self._connection, keys, session)
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
            *contents,
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
        await write_facts(self._places, each_of(whole.facts), session, keys, keys.tape, _ARCHIVED)
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

    def _kept(self, session: SessionId) -> SessionArchive:
        if self._archive is None:
            raise ArchiveUnavailable(
                f"Session {session} was moved into an archive, but retention.archive_url names none."
            )
        return self._archive


async def _contents(
    connection: RedisConnection, keys: ShardKeys, session: SessionId
) -> tuple[Sequence[TapeId], list[str]]:
    """The names of a session's own tapes, and the keys of all of its facts and large values."""
    asked = [("smembers", keys.tapes(session)), ("smembers", keys.values(session))]
    tapes, values = map(sorted, await connection.read_at_once(keys.lease, *asked))
    return tapes, [*map(keys.tape, tapes), *map(keys.early, tapes), *map(keys.value, values)]
