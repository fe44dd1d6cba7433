"""Rooms in a dictionary, which can be told to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runtime.core.errors import StorageUnavailable
from runtime.core.room import RoomInfo, RoomMessage, RoomPost


class DictRoomStore:
    """As the port says, without a bound. While `away`, everything raises StorageUnavailable."""

    def __init__(self) -> None:
        self.away = False
        self._rooms: dict[str, dict[str, RoomMessage]] = {}
        self._versions: dict[str, int] = {}

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        self._check()
        messages = self._rooms.setdefault(room, {})
        if post.id not in messages:
            messages[post.id] = RoomMessage(
                id=post.id,
                seq=len(messages) + 1,
                version=self._next_version(room),
                author_id=post.author_id,
                author_name=post.author_name,
                author_kind=post.author_kind,
                text=post.text,
                sent_at=post.sent_at,
                final=post.final,
                thread=post.thread,
            )
        return messages[post.id]

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        self._check()
        known = self._rooms.get(room, {}).get(message_id)
        if known is None or (known.text, known.final) == (text, final):
            return known
        changed = replace(known, text=text, final=final, version=self._next_version(room))
        self._rooms[room][message_id] = changed
        return changed

    async def history(
        self, room: str, /, *, after_seq: int = 0, before_seq: int | None = None, limit: int
    ) -> Sequence[RoomMessage]:
        self._check()
        end = before_seq if before_seq is not None else 2**53
        return [each for each in self._rooms.get(room, {}).values() if after_seq < each.seq < end][-limit:]

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        self._check()
        changed = [each for each in self._rooms.get(room, {}).values() if each.version > after_version]
        return sorted(changed, key=lambda each: each.version)[:limit]

    async def rooms(self) -> Sequence[RoomInfo]:
        self._check()
        infos = [RoomInfo(room, max(each.sent_at for each in held.values())) for room, held in self._rooms.items()]
        return sorted(infos, key=lambda info: info.last_activity, reverse=True)

    def _check(self) -> None:
        if self.away:
            raise StorageUnavailable("the rooms are away, as the test wishes")

    def _next_version(self, room: str) -> int:
        self._versions[room] = self._versions.get(room, 0) + 1
        return self._versions[room]
