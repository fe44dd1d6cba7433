"""The rooms in which each file was posted, so that only who sees one of them, or has the content, gets the file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adapters.records import ChangedTogether, what_can_be_read
from adapters.web.charters.charters import Charters

FILES_TABLE = "web:files"
MAX_KNOWN = 200
"""The rooms and people that are remembered of a file; the first ones are forgotten."""

_PERSON = ":"
"""What the id of a person has, and that of a room has not."""


class ShownFiles:
    """Raises StorageUnavailable. An unknown file is shown to everybody, as it was before there were
    private rooms. Without `records` every file is.

    A file is known by its content, so somebody can post what others have posted where they cannot see it.
    """

    def __init__(self, records: ChangedTogether | None, charters: Charters) -> None:
        self._records = records
        self._charters = charters

    async def posted(self, file_id: str, room: str) -> None:
        """A file is about to be shown in a room."""
        if self._records is not None:
            await self._show_to(self._records, file_id, room)

    async def uploaded(self, file_id: str, person_id: str) -> None:
        """A person has sent the content of a file."""
        if self._records is not None and not await self.shows(file_id, person_id):
            await self._show_to(self._records, file_id, person_id)

    async def shows(self, file_id: str, person_id: str) -> bool:
        """Whether a person may have a file."""
        kept = None if self._records is None else await self._records.get(file_id)
        whom = _whom(kept)
        for room in whom:
            if room == person_id or (_PERSON not in room and (await self._charters.get(room)).admits(person_id)):
                return True
        return kept is None

    async def forget(self, file_id: str) -> None:
        """The file is gone."""
        if self._records is not None:
            await self._records.remove(file_id)

    async def _show_to(self, records: ChangedTogether, file_id: str, whom: str) -> None:
        kept = await records.get(file_id)
        while whom not in _whom(kept):
            wanted = json.dumps([*_whom(kept), whom][-MAX_KNOWN:])
            if await records.change({file_id: (kept, wanted)}):
                return
            kept = await records.get(file_id)


def _whom(kept: str | None) -> Sequence[str]:
    return [] if kept is None else what_can_be_read({"file": kept}, _rooms).get("file", [])


def _rooms(kept: str) -> Sequence[str]:
    rooms = json.loads(kept)
    if not isinstance(rooms, list) or not all(isinstance(room, str) for room in rooms):
        raise TypeError(f"{rooms!r} is no list of rooms")
    return rooms
