"""Where sessions are on Redis, their records, and the states of many at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import methodcaller
from typing import Any

from msgspec import Struct

from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import address_from_json
from runtime.storage.encoding.sealing import ContentSealing
from runtime.storage.redis.client.connection import Question, RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.catalog import KnownSession
from runtime.stores.sessions import SHARDS, SessionRecord
from runtime.tape.tape import TapeBranch

Place = tuple[int, SessionId]
"""A session and its shard."""

RECORD_FIELDS = (
    *("address", "program", "started_at", "seq", "ended", "parent", "parent_seq", "replaced_by", "archived"),
    "taken_in",
)
"""Fields of a session's hash that make its record; `seq` is there when the session is."""

_ARCHIVED = RECORD_FIELDS.index("archived")
_LONG_AGO = datetime.fromtimestamp(0, UTC)
_KNOWN_PLACES = 100_000
_AT_ONCE = 1000


class SessionPlaces:
    """Finds the shards of sessions, and remembers them."""

    def __init__(self, connection: RedisConnection) -> None:
        self.connection = connection
        self._shards: dict[SessionId, int] = {}
        self._conversations: dict[SessionId, str] = {}

    async def keys(self, session: SessionId) -> ShardKeys | None:
        """The keys of the session's shard; None if there is no such session. For an unknown session, all shards are
        asked.
        """
        if session not in self._shards:
            names = [ShardKeys(shard).session(session) for shard in range(SHARDS)]
            found = await self.connection.each(names, lambda batch, name: batch.exists(name))
            if 1 not in found:
                return None
            self.remember(session, found.index(1))
        return ShardKeys(self._shards[session])

    def remember(self, session: SessionId, shard: int) -> None:
        self._shards[session] = shard
        if len(self._shards) > _KNOWN_PLACES:
            del self._shards[next(iter(self._shards))]

    def forget(self, session: SessionId) -> None:
        """Forget the session's shard."""
        self._shards.pop(session, None)
        self._conversations.pop(session, None)

    def expect(self, session: SessionId, conversation: str) -> None:
        """Note that the session belongs, or is about to belong, to this conversation."""
        self._conversations[session] = conversation
        if len(self._conversations) > _KNOWN_PLACES:
            del self._conversations[next(iter(self._conversations))]

    async def sealing(self, keys: ShardKeys, session: SessionId) -> ContentSealing:
        """The cipher for a session's content."""
        sealing = self.connection.sealing
        if not sealing.selective:
            return sealing
        if session not in self._conversations:
            found = await self.connection.read("hget", keys.session(session), "conversation")
            if found is None:
                return sealing
            self.expect(session, found)
        return sealing.of(self._conversations[session])


def record_from(session: SessionId, values: list[str | None]) -> SessionRecord | None:
    """The record of a session from the values of `RECORD_FIELDS`; None without a readable one."""
    found: Mapping[str, str | None] = dict(zip(RECORD_FIELDS, values, strict=True))
    address, program, started_at, seq = (found[name] for name in ("address", "program", "started_at", "seq"))
    if address is None or program is None or started_at is None or seq is None:
        return None
    parent, replaced_by = found["parent"], found["replaced_by"]
    try:
        place, began_at = address_from_json(address), datetime.fromisoformat(started_at)
    except (ValueError, TypeError):
        return None
    return SessionRecord(
        session,
        place,
        program,
        began_at,
        int(seq),
        found["ended"] == "1",
        None if parent is None else TapeBranch(SessionId(parent), int(found["parent_seq"] or 0)),
        None if replaced_by is None else SessionId(replaced_by),
        found["archived"] is not None,
        found["taken_in"] or "",
    )


async def known_sessions(connection: RedisConnection, places: Sequence[Place]) -> Mapping[SessionId, KnownSession]:
    """The states of these sessions, fetched together; missing ones are left out."""
    shards = list(dict.fromkeys(shard for shard, _ in places))
    answers = await connection.answers([*_of_shards(shards), *_of_sessions(places)])
    pages: dict[str, set[str]] = {}
    nodes: dict[int, str | None] = {}
    for number, shard in enumerate(shards):
        outbox, (node, expires), (seconds, micros) = answers[3 * number : 3 * number + 3]
        nodes[shard] = node if node is not None and int(expires) > seconds * 1000 + micros // 1000 else None
        for owner, page in pages_of(outbox):
            pages.setdefault(owner, set()).add(page)
    found = _found(places, answers[3 * len(shards) :])
    tapes = [tape for one in found for tape in one.tapes]
    measures = dict(zip(tapes, await _measures(connection, tapes), strict=True))
    known = {}
    for one in found:
        id_, measured = one.record.id, [measures[tape] for tape in one.tapes]
        if one.archived is not None:
            at, size_bytes = json.loads(one.archived)
            measured = [(datetime.fromisoformat(at), size_bytes)]
        last_at = max([one.record.started_at, *(at for at, _ in measured)])
        size_bytes = sum(size for _, size in measured)
        node = nodes[one.shard]
        known[id_] = KnownSession(one.record, one.awake, frozenset(pages.get(id_, ())), last_at, size_bytes, node)
    return known


def pages_of(outbox: Iterable[str]) -> Iterator[tuple[SessionId, str]]:
    """The sessions and pages of a shard's outbox; unreadable entries belong to nobody."""
    for member in outbox:
        try:
            read = json.loads(member)
        except ValueError:
            continue
        if isinstance(read, list) and len(read) == 2:
            yield SessionId(str(read[0])), str(read[1])


async def keys_like(connection: RedisConnection, pattern: str) -> AsyncIterator[Sequence[str]]:
    """The keys that match a glob pattern, page by page. A key may come twice, a new one not at all.

    A position means nothing to a server that has taken another's place: after every failure all begins again.
    """
    whole = False
    while not whole:
        failures, whole = connection.outage.failures, True
        for number in range(await connection.primaries()):
            cursor = 0
            while whole:
                scan = methodcaller("scan", cursor, match=pattern, count=_AT_ONCE)
                cursor, found = await connection.at_primary(number, scan)
                whole = connection.outage.failures == failures
                if found:
                    yield found
                if int(cursor) == 0:
                    break


class _Found(Struct, frozen=True):
    """A session in its shard; `archived` is the note from when it went into the archive."""

    shard: int
    record: SessionRecord
    awake: bool
    tapes: Sequence[str]
    archived: str | None


def _of_shards(shards: Sequence[int]) -> Iterator[Question]:
    """For each shard its pages, its node, and the time there."""
    for keys in map(ShardKeys, shards):
        yield keys.outbox, methodcaller("smembers", keys.outbox)
        yield keys.lease, methodcaller("hmget", keys.lease, ["node", "expires"])
        yield keys.lease, methodcaller("time")


def _of_sessions(places: Sequence[Place]) -> Iterator[Question]:
    """For each session its record, whether it is awake, and its tapes."""
    for shard, session in places:
        keys = ShardKeys(shard)
        yield keys.session(session), methodcaller("hmget", keys.session(session), RECORD_FIELDS)
        yield keys.awake, methodcaller("sismember", keys.awake, session)
        yield keys.tapes(session), methodcaller("smembers", keys.tapes(session))


def _found(places: Sequence[Place], answers: Sequence[Any]) -> list[_Found]:
    """The existing ones of these sessions."""
    found = []
    for number, (shard, session) in enumerate(places):
        values, awake, names = answers[3 * number : 3 * number + 3]
        record = record_from(session, values)
        if record is not None:
            tapes = [ShardKeys(shard).tape(name) for name in names]
            found.append(_Found(shard, record, bool(awake), tapes, values[_ARCHIVED]))
    return found


async def _measures(connection: RedisConnection, tapes: Sequence[str]) -> Sequence[tuple[datetime, int]]:
    """For each tape, the time of its newest fact and its size in bytes."""
    asked: list[Question] = []
    for tape in tapes:
        asked += [(tape, methodcaller("xrevrange", tape, count=1)), (tape, methodcaller("memory_usage", tape))]
    answers = await connection.answers(asked)
    return [(_time(newest), size or 0) for newest, size in zip(answers[::2], answers[1::2], strict=True)]


def _time(newest: Sequence[tuple[str, Mapping[str, str]]]) -> datetime:
    try:
        return datetime.fromisoformat(newest[0][1]["t"])
    except (ValueError, LookupError):
        return _LONG_AGO
