"""Files on Redis, in pieces. Implements the port `runtime.core.files.FileStore`.

A file is one hash: its pieces under their numbers first, and `type` and `size` last, so a file without them is none.
All files are counted in one place, which says which ones must go when there are too many.
"""

from __future__ import annotations

import base64
import hashlib

from runtime.core.files import FileBounds, FileContent, FileHead, check_size, file_id
from runtime.storage.encoding.sealing import file_binding
from runtime.storage.redis.client.connection import RedisConnection, load_script

PIECE_BYTES = 192 * 1024
"""A file is written and read in pieces of this size, so that no call holds the server up; 256 KiB in Base64."""

_OWNER_CHARS = 24
"""An owner is kept as a part of a hash: whoever is deleted is named nowhere."""

_REGISTER = load_script("file_register")
_FORGET = load_script("file_forget")
_COUNTS = tuple(
    f"{{parley:files}}:{what}"
    for what in ("order", "sizes", "total", "entries", "accounts", "totals", "last", "owners", "owned", "owned-entries")
)


class RedisFileStore:
    """Keeps the latest files within `bounds`."""

    def __init__(self, connection: RedisConnection, bounds: FileBounds | None = None) -> None:
        self._connection = connection
        self._bounds = bounds or FileBounds()

    async def keep(
        self, data: bytes, media_type: str, /, *, person: str | None = None, conversation: str | None = None
    ) -> str:
        check_size(data)
        sealing = self._connection.sealing.shared
        id_ = file_id(data, media_type)
        await self._count(id_, len(data), person, conversation)
        if await self.head(id_) is None:
            for number, start in enumerate(range(0, len(data), PIECE_BYTES)):
                content = sealing.seal_bytes(file_binding(id_, len(data), number), data[start : start + PIECE_BYTES])
                piece = base64.b64encode(content).decode("ascii")
                await self._write(id_, {str(number): piece})
            await self._write(id_, {"type": media_type, "size": str(len(data))})
        return id_

    async def attach(self, id_: str, conversation: str, /) -> None:
        await self._count(id_, "", None, conversation)

    async def _count(self, id_: str, size: int | str, person: str | None, conversation: str | None) -> None:
        bounds, account, bound = self._bounds, "", 0
        if conversation is not None:
            account, bound = f"conversation {conversation}", bounds.conversation_bytes
        elif person is not None:
            account, bound = f"person {person}", bounds.person_bytes
        attached = "0" if conversation is None else "1"
        owner = "" if person is None else hashlib.sha256(person.encode()).hexdigest()[:_OWNER_CHARS]
        told = [id_, size, bounds.total_bytes, account, bound, attached, owner]
        for gone in await self._connection.run(_REGISTER, _COUNTS, told):
            await self.remove(gone)

    async def head(self, id_: str, /) -> FileHead | None:
        media_type, size = await self._connection.read("hmget", _key(id_), ["type", "size"])
        return None if size is None else FileHead(media_type, int(size))

    async def content(self, id_: str, /) -> FileContent | None:
        head = await self.head(id_)
        if head is None:
            return None
        data = bytearray()
        for number in range((head.size_bytes + PIECE_BYTES - 1) // PIECE_BYTES):
            piece = await self._piece(id_, number)
            if piece is None:
                return None
            binding = file_binding(id_, head.size_bytes, number)
            data += self._connection.sealing.open_bytes(binding, base64.b64decode(piece))
        return FileContent(head.media_type, bytes(data))

    async def _piece(self, id_: str, number: int) -> str | None:
        piece: str | None = await self._connection.read("hget", _key(id_), str(number))
        return piece

    async def _write(self, id_: str, fields: dict[str, str]) -> None:
        await self._connection.write("HSET", _key(id_), *(part for field in fields.items() for part in field))

    async def remove(self, id_: str) -> None:
        """Remove a file; a missing one is no error."""
        await self._connection.write("UNLINK", _key(id_))
        await self._connection.run(_FORGET, _COUNTS, [id_])


def _key(id_: str) -> str:
    return f"{{parley:file:{id_}}}"
