"""Rooms in memory that can be taken away."""

from collections.abc import Sequence

from runtime.core.errors import StorageUnavailable
from runtime.core.room import RoomChange, RoomInfo, RoomMessage, RoomPost
from tests.fakes.memory.rooms import MemoryRoomStore


class RoomStoreThatFails(MemoryRoomStore):
    """While `away`, everything raises StorageUnavailable."""

    away = False

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        self._check()
        return await super().put(room, post)

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        self._check()
        return await super().update(room, message_id, text=text, final=final)

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        self._check()
        return await super().amend(room, message_id, change)

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        self._check()
        return await super().get(room, message_id)

    async def history(self, room: str, /, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
        self._check()
        return await super().history(room, before_seq=before_seq, limit=limit)

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        self._check()
        return await super().changes(room, after_version=after_version, limit=limit)

    async def rooms(self) -> Sequence[RoomInfo]:
        self._check()
        return await super().rooms()

    def _check(self) -> None:
        if self.away:
            raise StorageUnavailable("the rooms are away, as the test wishes")
