"""The files of a task's process: its node fetches and keeps them."""

from __future__ import annotations

import base64

from gateway.isolation.forms import FILE
from gateway.isolation.peer import Peer
from runtime.core.address import Address
from runtime.core.message import Attachment


class NodeFiles:
    """Implements `runtime.execution.calls.files.Files` over a connection to who has them. The conversation is the
    task's own, whatever is said."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def fetch(self, _address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        return base64.b64decode(await self._peer.call("fetch_file", [FILE.write(attachment), max_bytes]))

    async def keep(self, data: bytes, media_type: str, _address: Address, /) -> str:
        return str(await self._peer.call("keep_file", [base64.b64encode(data).decode(), media_type]))
