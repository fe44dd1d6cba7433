"""The source of files: the platforms that people sent them on, and Parley's own store."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from adapters.adapter import Adapter, CanDownload, FileData
from runtime.core.address import Address
from runtime.core.errors import ContentLocked, NotDelivered, OutcomeUncertain
from runtime.core.files import FILE_URL, FileStore
from runtime.core.message import Attachment

FETCH_TIMEOUT_S = 60.0


class NodeFileAccess:
    """The files of a node. Implements `runtime.core.files.FileAccess`."""

    def __init__(self, adapters: Mapping[str, Adapter], store: FileStore) -> None:
        self._adapters = adapters
        self._store = store

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        """Store a file that an agent sends in this conversation; see `FileStore`."""
        return await self._store.keep(data, media_type, conversation=address.key)

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        """The content of a file that was sent in this conversation.

        Raises NotDelivered when it is gone or longer than `max_bytes`, OutcomeUncertain when it does not arrive in
        time.
        """
        if attachment.size_bytes is not None and attachment.size_bytes > max_bytes:
            raise NotDelivered(_too_long(attachment, max_bytes))
        if attachment.url.startswith(FILE_URL):
            data = (await self.load(attachment)).data
        else:
            data = await self._downloaded(address, attachment, max_bytes)
        if len(data) > max_bytes:
            raise NotDelivered(_too_long(attachment, max_bytes))
        return data

    async def load(self, attachment: Attachment, /) -> FileData:
        """A file of Parley's own store, for sending. Raises NotDelivered when it is gone or cannot be opened."""
        try:
            found = await self._store.content(attachment.url.removeprefix(FILE_URL))
        except ContentLocked as error:
            raise NotDelivered(f"The file {attachment.name} cannot be opened. {error}") from error
        if found is None:
            raise NotDelivered(f"The file {attachment.name} no longer exists. Send it again.")
        return FileData(attachment.name, attachment.media_type, found.data, attachment.note)

    async def _downloaded(self, address: Address, attachment: Attachment, max_bytes: int) -> bytes:
        adapter = self._adapters.get(address.platform)
        if adapter is None or not isinstance(adapter, CanDownload):
            raise NotDelivered(f"{address.platform} provides no files; {attachment.name} cannot be read.")
        try:
            with anyio.fail_after(FETCH_TIMEOUT_S):
                return await adapter.download(attachment.url, max_bytes=max_bytes)
        except TimeoutError as error:
            text = f"{address.platform} did not give {attachment.name} within {FETCH_TIMEOUT_S:.0f} s. Try again."
            raise OutcomeUncertain(text) from error


def _too_long(attachment: Attachment, max_bytes: int) -> str:
    return f"The file {attachment.name} is longer than {max_bytes:,} bytes; it is not read."
