"""Rooms of the browser chat on Redis. Implements the port `adapters.web.rooms.RoomStore`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from runtime.core.message import Attachment, Choice, Quote
from runtime.core.room import Reaction, RoomChange, RoomInfo, RoomMessage, RoomPost
from runtime.sessions.inbox import shard_of
from runtime.sessions.store import SHARDS
from runtime.storage.codec import to_json
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.keys import ShardKeys
from runtime.storage.redis.script import load_script

_PUT = load_script("room_put")
_UPDATE = load_script("room_update")
_READ = load_script("room_read")
_AMEND = load_script("room_amend")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class RedisRoomStore:
    """Keeps the newest `bound` messages of each room."""

    def __init__(self, connection: RedisConnection, *, bound: int = 10_000) -> None:
        self._connection = connection
        self._bound = bound

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        keys = _keys(room)
        kept = await self._connection.run(
            _PUT,
            [keys.room(room), keys.room_counters(room), keys.room_seqs(room), keys.room_versions(room), keys.rooms],
            [post.id, _post_to_json(post), room, (post.sent_at - _EPOCH) // _MICROSECOND, self._bound],
        )
        return _message(kept)

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        keys = _keys(room)
        kept = await self._connection.run(
            _UPDATE,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, text, int(final)],
        )
        return None if kept is None else _message(kept)

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        keys = _keys(room)
        who, reaction = change.reacted or ("", None)
        mark = "" if reaction is None else to_json([reaction.name, reaction.mark])
        kept = await self._connection.run(
            _AMEND,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, to_json(_changed(change)), who, mark],
        )
        return None if kept is None else _message(kept)

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        key = _keys(room).room(room)

        async def call(client: Redis) -> Any:
            return await client.hget(key, message_id)

        kept: str | None = await self._connection.retrying(call, key)
        return None if kept is None else _message(kept)

    async def history(
        self, room: str, /, *, after_seq: int = 0, before_seq: int | None = None, limit: int
    ) -> Sequence[RoomMessage]:
        keys = _keys(room)
        before = "+inf" if before_seq is None else f"({before_seq}"
        found = await self._connection.run(
            _READ, [keys.room(room), keys.room_seqs(room)], [f"({after_seq}", before, limit, "newest"], replicated=False
        )
        return [_message(kept) for kept in reversed(found)]

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        keys = _keys(room)
        found = await self._connection.run(
            _READ,
            [keys.room(room), keys.room_versions(room)],
            [f"({after_version}", "+inf", limit, "oldest"],
            replicated=False,
        )
        return [_message(kept) for kept in found]

    async def rooms(self) -> Sequence[RoomInfo]:
        keys = [ShardKeys(shard).rooms for shard in range(SHARDS)]
        shards = await self._connection.each(keys, lambda batch, key: batch.zrange(key, 0, -1, withscores=True))
        infos = [RoomInfo(room, _EPOCH + int(score) * _MICROSECOND) for shard in shards for room, score in shard]
        return sorted(infos, key=lambda info: (info.last_activity, info.id), reverse=True)


def _keys(room: str) -> ShardKeys:
    return ShardKeys(shard_of(room))


def _post_to_json(post: RoomPost) -> str:
    return to_json(
        {
            "id": post.id,
            "author_id": post.author_id,
            "author_name": post.author_name,
            "author_kind": post.author_kind,
            "text": post.text,
            "sent_at": post.sent_at.isoformat(),
            "final": post.final,
            "thread": post.thread,
            **_without_none({"quote": _quote(post.quote), "files": _files(post.files) or None}),
        }
    )


def _changed(change: RoomChange) -> dict[str, Any]:
    return _without_none(
        {
            "text": change.text,
            "final": change.final,
            "edited": change.edited,
            "deleted": change.deleted,
            "files": None if change.files is None else _files(change.files),
            "choices": None if change.choices is None else [[each.id, each.label] for each in change.choices],
        }
    )


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _quote(quote: Quote | None) -> list[str] | None:
    return None if quote is None else [quote.message_id, quote.author, quote.text]


def _files(files: tuple[Attachment, ...]) -> list[list[Any]]:
    return [[file.name, file.media_type, file.url, file.size_bytes] for file in files]


def _message(kept: str) -> RoomMessage:
    """A message as any version of ours has written it; Lua writes what is empty as an object."""
    data = json.loads(kept)
    quote, reactions = data.pop("quote", None), dict(data.pop("reactions", None) or {})
    return RoomMessage(
        **{
            **data,
            "sent_at": datetime.fromisoformat(data["sent_at"]),
            "quote": Quote(*quote) if quote else None,
            "files": tuple(Attachment(*file) for file in data.get("files") or ()),
            "choices": tuple(Choice(*each) for each in data.get("choices") or ()),
            "reactions": {who: Reaction(*reaction) for who, reaction in reactions.items()},
        }
    )
