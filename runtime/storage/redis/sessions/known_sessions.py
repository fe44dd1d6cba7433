"""The states of many sessions at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redis.asyncio import Redis

from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.locations import RECORD_FIELDS, record_from
from runtime.stores.catalog import KnownSession
from runtime.stores.sessions import SessionRecord

_ARCHIVED = RECORD_FIELDS.index("archived")
_LONG_AGO = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class _Found:
    """A session as its shard has it; `archived` is what was noted when it went into the archive."""

    record: SessionRecord
    awake: bool
    tapes: Sequence[str]
    archived: str | None


async def known_sessions(
    connection: RedisConnection, shard: int, sessions: Sequence[SessionId]
) -> Mapping[SessionId, KnownSession]:
    """The states of these sessions of one shard; missing ones are left out."""
    keys = ShardKeys(shard)
    pages: dict[str, set[str]] = {}
    found, outbox, node = await _found(connection, keys, sessions)
    for owner, page in pages_of(outbox):
        pages.setdefault(owner, set()).add(page)
    tapes = [tape for one in found for tape in one.tapes]
    measures = dict(zip(tapes, await _measures(connection, tapes), strict=True))
    known = {}
    for one in found:
        id_, measured = one.record.id, [measures[tape] for tape in one.tapes]
        if one.archived is not None:
            measured = [_as_noted(one.archived)]
        last_at = max([one.record.started_at, *(at for at, _ in measured)])
        size_bytes = sum(size for _, size in measured)
        known[id_] = KnownSession(one.record, one.awake, frozenset(pages.get(id_, ())), last_at, size_bytes, node)
    return known


def pages_of(outbox: Iterable[str]) -> Iterator[tuple[SessionId, str]]:
    """The sessions and pages of a shard's outbox; what cannot be read is nobody's."""
    for member in outbox:
        try:
            read = json.loads(member)
        except ValueError:
            continue
        if isinstance(read, list) and len(read) == 2:
            yield SessionId(str(read[0])), str(read[1])


async def _found(
    connection: RedisConnection, keys: ShardKeys, sessions: Sequence[SessionId]
) -> tuple[Sequence[_Found], Sequence[str], str | None]:
    """The sessions that are there, the shard's pages, and who serves it."""

    async def call(client: Redis) -> Any:
        async with client.pipeline(transaction=True) as batch:
            batch.smembers(keys.outbox)
            batch.hmget(keys.lease, ["node", "expires"])
            batch.time()
            for session in sessions:
                batch.hmget(keys.session(session), RECORD_FIELDS)
                batch.sismember(keys.awake, session)
                batch.smembers(keys.tapes(session))
            return await batch.execute()

    outbox, (node, expires), (seconds, micros), *rest = await connection.retrying(call, keys.lease)
    serving = node if node is not None and int(expires) > seconds * 1000 + micros // 1000 else None
    found = []
    for number, session in enumerate(sessions):
        values, awake, tapes = rest[3 * number : 3 * number + 3]
        record = record_from(session, values)
        if record is not None:
            found.append(_Found(record, bool(awake), [keys.tape(tape) for tape in tapes], values[_ARCHIVED]))
    return found, outbox, serving


async def _measures(connection: RedisConnection, tapes: Sequence[str]) -> Sequence[tuple[datetime, int]]:
    """For each tape, the time of its newest fact and its size in bytes."""
    if not tapes:
        return []

    async def call(client: Redis) -> Any:
        async with client.pipeline(transaction=False) as batch:
            for tape in tapes:
                batch.xrevrange(tape, count=1)
                batch.memory_usage(tape)
            return await batch.execute()

    answers = await connection.retrying(call, tapes[0])
    return [(_time(newest), size or 0) for newest, size in zip(answers[::2], answers[1::2], strict=True)]


def _as_noted(text: str) -> tuple[datetime, int]:
    at, size_bytes = json.loads(text)
    return datetime.fromisoformat(at), size_bytes


def _time(newest: Sequence[tuple[str, Mapping[str, str]]]) -> datetime:
    try:
        return datetime.fromisoformat(newest[0][1]["t"])
    except (ValueError, LookupError):
        return _LONG_AGO
