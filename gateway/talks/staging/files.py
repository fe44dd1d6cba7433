"""The files of a talk: in memory, read as those that people send to a gateway."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio

from gateway.files.intake import IntakeLimits, StoredFileIntake
from gateway.outbound.file_source import Files
from gateway.settings.tree import Settings, process_environment
from runtime.core.clock import SystemClock
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, FileContent, FileHead, file_id
from runtime.core.message import Attachment
from runtime.core.texts import Texts
from runtime.files.process import WorkerReader
from runtime.files.reading import ReadLimits


class TalkFiles:
    """The files of one talk. Implements `runtime.core.files.FileStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, FileContent] = {}

    async def keep(
        self, data: bytes, media_type: str, /, *, person: str | None = None, conversation: str | None = None
    ) -> str:
        id_ = file_id(data, media_type)
        self._kept[id_] = FileContent(media_type, data)
        return id_

    async def attach(self, id_: str, conversation: str, /) -> None:
        """See `FileStore`: everything stays until the talk is over."""

    async def head(self, id_: str, /) -> FileHead | None:
        found = self._kept.get(id_)
        return None if found is None else FileHead(found.media_type, len(found.data))

    async def content(self, id_: str, /) -> FileContent | None:
        return self._kept.get(id_)

    async def sent(self, path: Path) -> Mapping[str, Any]:
        """A file that a person of the talk sends, as an event has it. Raises OSError."""
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        file = anyio.Path(path)
        size_bytes = (await file.stat()).st_size
        url = "" if size_bytes > MAX_FILE_BYTES else FILE_URL + await self.keep(await file.read_bytes(), media_type)
        return asdict(Attachment(path.name, media_type, url, size_bytes))

    def source(self) -> Files:
        """The files for calls of programs."""
        return Files({}, self)

    def intake(self, settings: Settings, texts: Texts) -> StoredFileIntake:
        """Who reads what people send."""
        own = settings.files
        reader = WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars))
        limits = IntakeLimits(own.per_message, own.per_day)
        return StoredFileIntake(self.source(), self, reader, _Counts(), limits, lambda _: texts, SystemClock())


class _Counts:
    """The sums of one talk. Implements `gateway.inbound.usage_limits.Counters`."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._known: set[tuple[str, str]] = set()

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        if (name, once) not in self._known:
            self._known.add((name, once))
            self._sums[name] = self._sums.get(name, 0.0) + amount
        return self._sums[name]

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        return [self._sums.get(name, 0.0) for name in names]
