"""The port for sessions that nobody has spoken with for long: whole ones, kept outside of the database."""

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
    """Keeps sessions for as long as they are not removed. Raises ArchiveUnavailable, and nothing else."""

    async def put(self, whole: WholeSession, /) -> None:
        """Keep a session, durably, in place of what was kept of it before."""
        ...

    async def get(self, session: SessionId, /) -> WholeSession | None: ...

    async def remove(self, session: SessionId, /) -> bool:
        """Forget a session; whether it was there."""
        ...

    def sessions(self) -> AsyncIterator[SessionId]:
        """Every session that is kept, once, in no order."""
        ...


class PutsAway(Protocol):
    """Moves sessions out of the database. Raises ArchiveUnavailable or StorageUnavailable, and nothing else."""

    async def put_away(self, session: SessionId, /) -> bool:
        """Move a session's facts to the archive until somebody speaks with it again; its record stays.

        False, and nothing changed, when there is none, when it is working, or when another continues it.
        """
        ...


def pack(whole: WholeSession) -> bytes:
    """A session as an archive keeps it: the lines of its file, compressed."""
    return zlib.compress("".join(session_lines(whole)).encode())


def unpack(session: SessionId, content: bytes) -> WholeSession:
    """The session again. Raises ArchiveUnavailable when the content cannot be read."""
    try:
        lines = [json.loads(line) for line in zlib.decompress(content).decode().splitlines()]
        return session_from(lines)
    except (zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
        raise ArchiveUnavailable(f"What the archive has of session {session} cannot be read: {error!r}.") from error
