"""The port for conversations opened for meetings, and the sessions of those meetings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId


@dataclass(frozen=True, slots=True)
class HeldMeeting:
    """The meeting of a place, in a session that lives in the conversation `home`."""

    home: Address
    session: SessionId
    meeting: str


class PlaceStore(Protocol):
    """The places of meetings. Messages in a place go to the session of its meeting, even after the end. Raises
    StorageUnavailable, and nothing else.
    """

    async def put(self, place: Address, held: HeldMeeting, /) -> None:
        """Record the purpose of a place, replacing an earlier record."""
        ...

    async def get(self, place: Address, /) -> HeldMeeting | None:
        """The meeting of a place; None for a conversation that is not a place."""
        ...

    async def release(self, place: Address, session: SessionId, /) -> None:
        """Make it an ordinary conversation, unless it is another session's place by now."""
        ...
