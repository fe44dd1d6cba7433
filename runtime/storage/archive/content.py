"""The archived content of a session: packed, and sealed where its conversation is."""

from __future__ import annotations

from runtime.core.ids import SessionId
from runtime.storage.encoding.sealing import Sealing, archive_binding
from runtime.stores.archive import pack, unpack
from runtime.stores.catalog import WholeSession


class ArchiveContent:
    """Packs and unpacks sessions."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def pack(self, whole: WholeSession) -> bytes:
        sealing = self._sealing.of(whole.record.address.key)
        return sealing.seal_bytes(archive_binding(whole.record.id), pack(whole))

    def unpack(self, session: SessionId, content: bytes) -> WholeSession:
        """The unpacked session. Raises ContentLocked, or ArchiveUnavailable when the content cannot be read."""
        return unpack(session, self._sealing.open_bytes(archive_binding(session), bytes(content)))
