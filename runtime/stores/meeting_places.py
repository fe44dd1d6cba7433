"""The port for conversations that belong to a session which lives elsewhere: places of meetings, threads below what
agents and tasks have asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId


@dataclass(frozen=True, slots=True)
class HeldPlace:
    """The purpose of a place, in a session that lives in the conversation `home`: a meeting, by its id, or None for
    a thread below the question of an agent or a task."""

    home: Address
    session: SessionId
    meeting: str | None


class PlaceStore(Protocol):
    """The places of sessions. Messages in a place go to its session, even after a meeting's end or an answer. Raises
    StorageUnavailable, and nothing else.
    """

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        """Record the purpose of a place, replacing an earlier record."""
        ...

    async def get(self, place: Address, /) -> HeldPlace | None:
        """The purpose of a place; None for a conversation that is not a place."""
        ...

    async def release(self, place: Address, session: SessionId, /) -> None:
        """Make it an ordinary conversation, unless it is another session's place by now."""
        ...
