"""Rooms of the browser chat on Redis. Implements the port `adapters.web.rooms.RoomStore`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from runtime.core.room import RoomChange, RoomInfo, RoomMessage, RoomPost
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.rooms import RoomForm
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS

_PUT = load_script("rooms/put")
_UPDATE = load_script("rooms/update")
_READ = load_script("rooms/read")
_AMEND = load_script("rooms/amend")

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


class RedisRoomStore:
    """Keeps the newest `bound` messages of each room. `platform` is the first part of the keys of its conversations."""

    def __init__(self, connection: RedisConnection, *, bound: int = 10_000, platform: str = "") -> None:
        self._connection = connection
        self._bound = bound
        self._form = RoomForm(connection.sealing, platform)

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        keys = _keys(room)
        kept = await self._connection.run(
            _PUT,
            [keys.room(room), keys.room_counters(room), keys.room_seqs(room), keys.room_versions(room), keys.rooms],
            [post.id, self._form.post(room, post), room, (post.sent_at - _EPOCH) // _MICROSECOND, self._bound],
        )
        return self._form.message(room, kept)

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        keys = _keys(room)
        kept = await self._connection.run(
            _UPDATE,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, *self._form.text(room, message_id, text), int(final)],
        )
        return None if kept is None else self._form.message(room, kept)

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        keys = _keys(room)
        who, reaction = change.reacted or ("", None)
        mark = "" if reaction is None else to_json([reaction.name, reaction.mark])
        kept = await self._connection.run(
            _AMEND,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, self._form.change(room, message_id, change), who, mark],
        )
        return None if kept is None else self._form.message(room, kept)

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        kept: str | None = await self._connection.ask("HGET", _keys(room).room(room), message_id)
        return None if kept is None else self._form.message(room, kept)

    async def history(
        self, room: str, /, *, after_seq: int = 0, before_seq: int | None = None, limit: int
    ) -> Sequence[RoomMessage]:
        keys = _keys(room)
        before = "+inf" if before_seq is None else f"({before_seq}"
        found = await self._connection.run(
            _READ, [keys.room(room), keys.room_seqs(room)], [f"({after_seq}", before, limit, "newest"], replicated=False
        )
        return [self._form.message(room, kept) for kept in reversed(found)]

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        keys = _keys(room)
        found = await self._connection.run(
            _READ,
            [keys.room(room), keys.room_versions(room)],
            [f"({after_version}", "+inf", limit, "oldest"],
            replicated=False,
        )
        return [self._form.message(room, kept) for kept in found]

    async def rooms(self) -> Sequence[RoomInfo]:
        keys = [ShardKeys(shard).rooms for shard in range(SHARDS)]
        shards = await self._connection.each(keys, lambda batch, key: batch.zrange(key, 0, -1, withscores=True))
        infos = [RoomInfo(room, _EPOCH + int(score) * _MICROSECOND) for shard in shards for room, score in shard]
        return sorted(infos, key=lambda info: (info.last_activity, info.id), reverse=True)


def _keys(room: str) -> ShardKeys:
    return ShardKeys(shard_of(room))
