"""Rooms in memory. Implements the port `adapters.web.rooms.RoomStore`."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from adapters.web.adapter import RoomTables
from adapters.web.rooms import RoomStore
from runtime.core.room import MessageReaction, RoomChange, RoomInfo, RoomMessage, RoomPost
from tests.fakes.observing.records import MemoryRecords


def memory_tables(rooms: RoomStore | None = None) -> RoomTables:
    return RoomTables(rooms or MemoryRoomStore(), MemoryRecords(), MemoryRecords(), MemoryRecords(), MemoryRecords())


class _Room(Struct):
    info: RoomInfo
    messages: dict[str, RoomMessage] = field(default_factory=dict)
    last_seq: int = 0
    last_version: int = 0


class MemoryRoomStore:
    """Keeps the newest `bound` messages of each room."""

    def __init__(self, *, bound: int = 10_000) -> None:
        self._bound = bound
        self._rooms: dict[str, _Room] = {}

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        kept = self._rooms.setdefault(room, _Room(RoomInfo(room, post.sent_at)))
        if post.id not in kept.messages:
            kept.last_seq += 1
            kept.last_version += 1
            kept.info = RoomInfo(room, post.sent_at)
            kept.messages[post.id] = RoomMessage(**_fields(post), seq=kept.last_seq, version=kept.last_version)
            if len(kept.messages) > self._bound:
                del kept.messages[next(iter(kept.messages))]
        return kept.messages[post.id]

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        message = await self.get(room, message_id)
        if message is None or message.deleted:
            return None
        return self._change(room, message_id, RoomChange(text=text, final=final))

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        return self._change(room, message_id, change)

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        kept = self._rooms.get(room)
        return None if kept is None else kept.messages.get(message_id)

    def _change(self, room: str, message_id: str, change: RoomChange) -> RoomMessage | None:
        kept = self._rooms.get(room)
        if kept is None or message_id not in kept.messages:
            return None
        message = kept.messages[message_id]
        wanted = {name: value for name, value in _fields(change).items() if value is not None and name != "reacted"}
        if change.reacted is not None:
            wanted["reactions"] = _reacted(message, *change.reacted)
        changed = replace(message, **wanted)
        if changed != message:
            kept.last_version += 1
            kept.messages[message_id] = replace(changed, version=kept.last_version)
        return kept.messages[message_id]

    async def history(self, room: str, /, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
        found = [message for message in self._messages(room) if before_seq is None or message.seq < before_seq]
        return found[max(0, len(found) - limit) :]

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        found = [message for message in self._messages(room) if message.version > after_version]
        return sorted(found, key=lambda message: message.version)[:limit]

    async def rooms(self) -> Sequence[RoomInfo]:
        infos = [kept.info for kept in self._rooms.values()]
        return sorted(infos, key=lambda info: (info.last_activity, info.id), reverse=True)

    def _messages(self, room: str) -> list[RoomMessage]:
        kept = self._rooms.get(room)
        return [] if kept is None else list(kept.messages.values())


def _fields(data: RoomPost | RoomChange) -> dict[str, Any]:
    return {name: getattr(data, name) for name in data.__struct_fields__}


def _reacted(message: RoomMessage, person: str, reaction: MessageReaction | None) -> dict[str, MessageReaction]:
    others = {who: mark for who, mark in message.reactions.items() if who != person}
    return others if reaction is None else {**others, person: reaction}
