"""Files in memory. Implements the port `runtime.core.files.FileStore`."""

from __future__ import annotations

from runtime.core.errors import FileTooLarge
from runtime.core.files import MAX_FILE_BYTES, FileContent, FileHead, file_id

DEFAULT_BOUND_BYTES = 256 * 1024 * 1024
"""How much all files together may take."""


def check_size(data: bytes) -> None:
    """Raise FileTooLarge when no store takes so much."""
    if len(data) > MAX_FILE_BYTES:
        raise FileTooLarge(
            f"This file has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are kept. Send a smaller one."
        )


class MemoryFileStore:
    """Keeps the latest files, `bound_bytes` in all."""

    def __init__(self, *, bound_bytes: int = DEFAULT_BOUND_BYTES) -> None:
        self._bound_bytes = bound_bytes
        self._files: dict[str, FileContent] = {}

    async def keep(self, data: bytes, media_type: str, /) -> str:
        check_size(data)
        id_ = file_id(data, media_type)
        self._files.pop(id_, None)
        self._files[id_] = FileContent(media_type, data)
        while len(self._files) > 1 and sum(len(file.data) for file in self._files.values()) > self._bound_bytes:
            del self._files[next(iter(self._files))]
        return id_

    async def head(self, id_: str, /) -> FileHead | None:
        file = self._files.get(id_)
        return None if file is None else FileHead(file.media_type, len(file.data))

    async def content(self, id_: str, /) -> FileContent | None:
        return self._files.get(id_)
