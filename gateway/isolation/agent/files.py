"""The files of a task's process: its node fetches and keeps them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from gateway.isolation.forms import FILE, FILES, TAKEN
from gateway.isolation.peer import Peer
from runtime.core.address import Address
from runtime.core.message import Attachment
from runtime.sessions.inbound.received_files import TakenFile


class NodeFiles:
    """Implements `runtime.execution.calls.files.Files` over a connection to who has them. The conversation is the
    task's own, whatever is said."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def fetch(self, _address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        return base64.b64decode(await self._peer.call("fetch_file", [FILE.write(attachment), max_bytes]))

    async def keep(self, data: bytes, media_type: str, _address: Address, /) -> str:
        return str(await self._peer.call("keep_file", [base64.b64encode(data).decode(), media_type]))


class NodeIntake:
    """Implements `runtime.sessions.inbound.received_files.FileIntake` over a connection to who reads files."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def content(self, url: str, /) -> bytes | None:
        found = await self._peer.call("file_content", url)
        return None if found is None else base64.b64decode(found)

    async def take(
        self, _address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        return TAKEN.read(await self._peer.call("take_files", [FILES.write(list(files)), once, person]))
