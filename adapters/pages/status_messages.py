"""Status messages in conversations, recorded so that the next process can remove them after a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from adapters.records import Records, what_can_be_read
from runtime.core.address import Address, Speaker
from runtime.core.errors import StorageUnavailable


@dataclass(frozen=True, slots=True)
class Note:
    """A posted status message; `message` is its id on the platform."""

    address: Address
    speaker: Speaker
    message: str


class StatusMessages:
    """Status messages in one table for all nodes; each node looks after those of its own name, `node`. Without a store
    a status message may stay for good.
    """

    def __init__(self, records: Records, node: str) -> None:
        self._records = records
        self._node = node

    async def keep(self, note: Note) -> None:
        """Record a posted status message."""
        with suppress(StorageUnavailable):
            await self._records.put(self._name(note), json.dumps(asdict(note), ensure_ascii=False))

    async def forget(self, note: Note) -> None:
        """Forget a removed one; a missing record is no error."""
        with suppress(StorageUnavailable):
            await self._records.remove(self._name(note))

    async def left(self) -> Sequence[Note]:
        """The status messages that an earlier process of this node did not remove. Raises StorageUnavailable."""
        kept = await self._records.all()
        own = {name: value for name, value in kept.items() if name.startswith(f"{self._node}/")}
        return list(what_can_be_read(own, _read).values())

    def _name(self, note: Note) -> str:
        return f"{self._node}/{note.address.key}/{note.message}"


def _read(value: str) -> Note:
    data = json.loads(value)
    return Note(Address(**data["address"]), Speaker(**data["speaker"]), data["message"])
