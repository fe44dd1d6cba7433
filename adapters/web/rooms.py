"""The port for the browser chat's rooms with their messages, which survive restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.core.room import RoomChange, RoomInfo, RoomMessage, RoomPost


class RoomStore(Protocol):
    """Raises StorageUnavailable, and nothing else.

    A room begins with its first message and keeps the newest ones, up to a bound that the store is given.
    """

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        """Store a message; an existing message with the same id is returned unchanged."""

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        """Replace a message's text and state; None if it is not there. Without a change it takes no version."""

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        """Change a message; None when the room does not have it. A change without effect takes no version."""

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        """One message; None when the room does not have it."""

    async def history(
        self, room: str, /, *, after_seq: int = 0, before_seq: int | None = None, limit: int
    ) -> Sequence[RoomMessage]:
        """The newest `limit` messages with `after_seq` < `seq` < `before_seq`, oldest first."""

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        """The first `limit` messages changed after that version, in order of `version`, in their current form."""

    async def rooms(self) -> Sequence[RoomInfo]:
        """All rooms, the most recently active first."""
