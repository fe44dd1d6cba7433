"""The port for sessions that have been silent for long: complete ones, stored outside the database."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from typing import Protocol

from runtime.core.errors import ArchiveUnavailable
from runtime.core.ids import SessionId
from runtime.stores.catalog import WholeSession
from runtime.stores.session_file import session_from, session_lines


class Archive(Protocol):
    """Stores sessions until they are removed. Raises ArchiveUnavailable, and nothing else."""

    async def put(self, whole: WholeSession, /) -> None:
        """Store a session in place of its earlier copy."""
        ...

    async def get(self, session: SessionId, /) -> WholeSession | None: ...

    async def remove(self, session: SessionId, /) -> bool:
        """Remove a session; returns whether it was there."""
        ...

    def sessions(self) -> AsyncIterator[SessionId]:
        """Every stored session once, in no order."""
        ...


class PutsAway(Protocol):
    """Moves sessions out of the database. Raises ArchiveUnavailable or StorageUnavailable, and nothing else."""

    async def put_away(self, session: SessionId, /) -> bool:
        """Move a session's facts to the archive until somebody speaks with it again; its record stays.

        False, and nothing changed, when there is none, when it is working, or when another continues it.
        """
        ...


def pack(whole: WholeSession) -> bytes:
    """A session in the archive's form: the lines of its file, compressed."""
    return zlib.compress("".join(session_lines(whole)).encode())


def unpack(session: SessionId, content: bytes) -> WholeSession:
    """The session from that form. Raises ArchiveUnavailable when the content cannot be read."""
    try:
        lines = [json.loads(line) for line in zlib.decompress(content).decode().splitlines()]
        return session_from(lines)
    except (zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
        raise ArchiveUnavailable(f"What the archive has of session {session} cannot be read: {error!r}.") from error
