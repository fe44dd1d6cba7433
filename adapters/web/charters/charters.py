"""The charters of all rooms: read from the store for what somebody asks, remembered for what is told to many."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adapters.records import ChangedTogether
from adapters.web.charters.charter import Charter, charter_of

CHARTERS_TABLE = "web:charters"
MAX_CHARTERS = 5_000
"""The number of rooms beyond which nobody can make one that is not open."""

MAX_CHARTERS_OF_ONE = 500
"""The rooms that one person has made, archived ones too, beyond which they can make none that is not open."""

_ATTEMPTS = 20


class Charters:
    """Raises StorageUnavailable from every async method. Without `records` every room is open and stays so."""

    def __init__(self, records: ChangedTogether | None) -> None:
        self._records = records
        self._known: dict[str, Charter] = {}

    @property
    def kept(self) -> bool:
        """Whether anything is kept."""
        return self._records is not None

    async def get(self, room: str) -> Charter:
        """The charter as it is now. Of a room that there may not be, nothing is remembered."""
        if self._records is None:
            return Charter()
        kept = await self._records.get(room)
        return charter_of(room, None) if kept is None and room not in self._known else self._remember(room, kept)

    async def know(self, room: str) -> Charter:
        """The charter of a room that there is, as it is remembered, and from the store where it is not."""
        if self._records is None or room in self._known:
            return self._known.get(room, Charter())
        return self._remember(room, await self._records.get(room))

    def remembered(self, room: str) -> Charter | None:
        """The charter as it is remembered; None when it is not."""
        return self._known.get(room)

    def everything_remembered(self) -> Mapping[str, Charter]:
        """All charters as they are remembered."""
        return dict(self._known)

    def is_open(self, room: str) -> bool:
        """Whether everybody may hear of a room, by what is remembered: nobody, of an unknown one."""
        return self._records is None or (room in self._known and self._known[room].kind == "open")

    def admits(self, room: str, person_id: str) -> bool:
        """Whether a person may hear of a room, by what is remembered."""
        return self._records is None or (room in self._known and self._known[room].admits(person_id))

    async def all(self) -> Mapping[str, Charter]:
        """All charters that are kept."""
        if self._records is None:
            return {}
        return {room: self._remember(room, kept) for room, kept in (await self._records.all()).items()}

    async def change(self, room: str, edit: Callable[[Charter], Charter]) -> Charter:
        """Change a charter by a function of what is there now, which may be called again, and may raise."""
        assert self._records is not None
        for _ in range(_ATTEMPTS):
            kept = await self._records.get(room)
            now = charter_of(room, kept)
            wanted = edit(now)
            if wanted == now:
                return self._remember(room, kept)
            if await self._records.change({room: (kept, wanted.text())}):
                return self._remember(room, wanted.text())
        return await self.get(room)

    def _remember(self, room: str, kept: str | None) -> Charter:
        charter = self._known[room] = charter_of(room, kept)
        return charter
