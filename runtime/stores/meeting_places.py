"""The port for which conversations were opened for meetings, and of whose sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId


@dataclass(frozen=True, slots=True)
class HeldMeeting:
    """What a place was opened for: a meeting of a session that lives in the conversation `home`."""

    home: Address
    session: SessionId
    meeting: str


class PlaceStore(Protocol):
    """What is said in a place goes to the session whose meeting it was opened for, also after that has ended.

    Raises StorageUnavailable, and nothing else.
    """

    async def put(self, place: Address, held: HeldMeeting, /) -> None:
        """Keep what a place was opened for, in place of what was known of it."""
        ...

    async def get(self, place: Address, /) -> HeldMeeting | None:
        """What a place was opened for; None for a conversation that is none."""
        ...

    async def release(self, place: Address, session: SessionId, /) -> None:
        """From now on it is a conversation like any other, unless it is another session's place by now."""
        ...
