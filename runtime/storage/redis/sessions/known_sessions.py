"""The states of many sessions at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import methodcaller
from typing import Any

from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import Question, RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.locations import RECORD_FIELDS, record_from
from runtime.stores.catalog import KnownSession
from runtime.stores.sessions import SessionRecord

Place = tuple[int, SessionId]
"""A session and its shard."""

_ARCHIVED = RECORD_FIELDS.index("archived")
_LONG_AGO = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class _Found:
    """A session in its shard; `archived` is the note from when it went into the archive."""

    shard: int
    record: SessionRecord
    awake: bool
    tapes: Sequence[str]
    archived: str | None


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
            measured = [_as_noted(one.archived)]
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


def _as_noted(text: str) -> tuple[datetime, int]:
    at, size_bytes = json.loads(text)
    return datetime.fromisoformat(at), size_bytes


def _time(newest: Sequence[tuple[str, Mapping[str, str]]]) -> datetime:
    try:
        return datetime.fromisoformat(newest[0][1]["t"])
    except (ValueError, LookupError):
        return _LONG_AGO
