"""The port for deleting data about people and sessions beside the tapes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId


@dataclass(frozen=True, slots=True)
class Whose:
    """A person by id, the keys of the conversations that were theirs alone, the sessions they took part in, and the
    names they had there."""

    person: str
    conversations: frozenset[str]
    sessions: frozenset[SessionId] = frozenset()
    names: frozenset[str] = frozenset()


class Traces(Protocol):
    """Every method can be called again. Raises StorageUnavailable, and nothing else."""

    async def messages(self, room: str, ids: Collection[str], /) -> None:
        """Remove messages from a room of ours, and every quote of them. A room that is then empty goes as well."""
        ...

    async def said(self, conversation: Address, /) -> None:
        """Forget what is kept of what was said in a conversation."""
        ...

    async def files(self, ids: Collection[str], /) -> None:
        """Remove files from our own store."""
        ...

    async def person(self, whose: Whose, /) -> int:
        """Forget everything that names a person or a conversation of theirs; how many entries that were.

        Schedules; events that wait or could not be processed, also those by which forks of their sessions begin or
        end; quotes of them, by their names, in such events of others; what they said that is kept for a while; known
        event ids, messages and reactions in rooms, notices there that name them; their names in titles of rooms; roles,
        requests, choices, sums, and what adapters remember. Sessions are not touched.
        """
        ...

    async def rewrite(self) -> bool:
        """Have the server rewrite its file without deleted data, and return when the old file is gone.

        False where the server may not be asked to, cannot do it, or takes minutes.
        """
        ...
