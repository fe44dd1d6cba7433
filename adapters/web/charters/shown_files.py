"""The rooms in which each file was posted, so that only who sees one of them gets the file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adapters.records import Records
from adapters.web.charters.charters import Charters

FILES_TABLE = "web:files"
MAX_ROOMS_OF_A_FILE = 200
"""The rooms that are remembered of a file; the first ones are forgotten."""


class ShownFiles:
    """Raises StorageUnavailable. A file of which no room is known is shown to everybody, as it was before there were
    private rooms. Without `records` every file is."""

    def __init__(self, records: Records | None, charters: Charters) -> None:
        self._records = records
        self._charters = charters

    async def posted(self, file_id: str, room: str) -> None:
        """A file is about to be shown in a room."""
        if self._records is None:
            return
        rooms = await self._rooms(file_id)
        if room not in rooms:
            await self._records.put(file_id, json.dumps([*rooms, room][-MAX_ROOMS_OF_A_FILE:]))

    async def shows(self, file_id: str, person_id: str) -> bool:
        """Whether a person may have a file."""
        rooms = await self._rooms(file_id)
        for room in rooms:
            if (await self._charters.get(room)).admits(person_id):
                return True
        return not rooms

    async def forget(self, file_id: str) -> None:
        """The file is gone."""
        if self._records is not None:
            await self._records.remove(file_id)

    async def _rooms(self, file_id: str) -> Sequence[str]:
        kept = None if self._records is None else await self._records.get(file_id)
        return [] if kept is None else [str(room) for room in json.loads(kept)]
