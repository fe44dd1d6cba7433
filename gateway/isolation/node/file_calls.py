"""Answers to the calls by which the process of a task reads files that came with its events, and keeps its own."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from gateway.isolation.forms import FILE, FILES, TAKEN
from gateway.isolation.node.rights import Rights
from gateway.isolation.peer import Handler
from runtime.core.errors import FileTooLarge, NotDelivered, TaskRefused
from runtime.core.files import FILE_URL
from runtime.execution.calls.files import MAX_READ_BYTES, Files
from runtime.llm.sight import Sight
from runtime.sessions.inbound.received_files import FileIntake


class FileCalls:
    """The files of one task. `files` is None where its node keeps none, `intake` where it reads none as they come."""

    def __init__(
        self, files: Files | None, rights: Rights, intake: FileIntake | None = None, sight: Sight | None = None
    ) -> None:
        self._files = files
        self._rights = rights
        self._intake = intake
        self._sight = sight or Sight()

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        calls = (self.fetch_file, self.keep_file, self.take_files, self.file_content, self.sees)
        return {call.__name__: call for call in calls}

    async def take_files(self, data: Any) -> Any:
        """Keep and read the files of an event that the task was given; see `FileIntake.take`."""
        written, once, person = data
        files = FILES.read(written)
        if not {file.url for file in files} <= self._rights.files:
            raise TaskRefused("This task was not given these files.")
        taken = await self._reader().take(self._rights.address, files, str(once), person=str(person))
        for one in taken:
            self._rights.files |= {one.file.url, *(part.url for part in one.file.parts)}
        return TAKEN.write(taken)

    async def file_content(self, data: Any) -> str | None:
        """What a model is given of a file of the task; None where it is no longer kept."""
        if data not in self._rights.files:
            raise TaskRefused("This task was not given this file.")
        content = await self._reader().content(str(data))
        return None if content is None else base64.b64encode(content).decode()

    async def sees(self, data: Any) -> bool:
        """Whether a model, by its name in the settings, is to be given pictures."""
        return await self._sight.sees(model=str(data))

    def _reader(self) -> FileIntake:
        if self._intake is None:
            raise NotDelivered("No files are read here.")
        return self._intake

    async def fetch_file(self, data: Any) -> str:
        """The content of a file that somebody gave to the task, or that is its own."""
        written, max_bytes = data
        file = FILE.read(written)
        if file.url not in self._rights.files:
            raise TaskRefused(f"This task was not given the file {file.name[:200]}.")
        place = self._rights.order.place
        found = await self._here().fetch(place, file, max_bytes=min(int(max_bytes), MAX_READ_BYTES))
        return base64.b64encode(found).decode()

    async def keep_file(self, data: Any) -> str:
        """Keep a file that the task sends; its id."""
        content, media_type = data
        if len(content) > MAX_READ_BYTES * 4 // 3 + 4:
            raise FileTooLarge(f"A task in a process of its own sends files of at most {MAX_READ_BYTES:,} bytes.")
        kept = await self._here().keep(base64.b64decode(content), str(media_type), self._rights.address)
        self._rights.files.add(FILE_URL + kept)
        return kept

    def _here(self) -> Files:
        if self._files is None:
            raise NotDelivered("No files are kept here.")
        return self._files
