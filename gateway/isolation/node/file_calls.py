"""Answers to the calls by which the process of a task reads files that came with its events, and keeps its own."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from gateway.isolation.forms import FILE
from gateway.isolation.node.rights import Rights
from gateway.isolation.peer import Handler
from runtime.core.errors import FileTooLarge, NotDelivered, TaskRefused
from runtime.core.files import FILE_URL
from runtime.execution.calls.files import MAX_READ_BYTES, Files


class FileCalls:
    """The files of one task. `files` is None where its node keeps none."""

    def __init__(self, files: Files | None, rights: Rights) -> None:
        self._files = files
        self._rights = rights

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        return {"fetch_file": self.fetch_file, "keep_file": self.keep_file}

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
