"""The locations of sessions on Redis, and their records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import address_from_json
from runtime.storage.encoding.sealing import Sealing
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.sessions import SHARDS, SessionRecord
from runtime.tape.tape import Branch

RECORD_FIELDS = (
    *("address", "program", "started_at", "seq", "ended", "parent", "parent_seq", "replaced_by", "archived"),
    "taken_in",
)
"""Fields of a session's hash that make its record; `seq` is there when the session is."""

_KNOWN_PLACES = 100_000


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
        None if parent is None else Branch(SessionId(parent), int(found["parent_seq"] or 0)),
        None if replaced_by is None else SessionId(replaced_by),
        found["archived"] is not None,
        found["taken_in"] or "",
    )


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

    async def sealing(self, keys: ShardKeys, session: SessionId) -> Sealing:
        """The cipher for a session's content."""
        sealing = self.connection.sealing
        if not sealing.selective:
            return sealing
        if session not in self._conversations:
            name = keys.session(session)

            async def call(client: Redis) -> Any:
                return await client.hget(name, "conversation")

            found = await self.connection.retrying(call, name)
            if found is None:
                return sealing
            self.expect(session, found)
        return sealing.of(self._conversations[session])
