"""An archive in one SQLite file, for gateways on one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from runtime.core.errors import ArchiveUnavailable, ConfigError
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import session_from_archive, session_to_archive
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.stores.catalog import WholeSession

VERSION = 1
"""The version of the file's tables, stored as its user_version."""

_WAIT_S = 10.0
"""The time limit for another process's write."""

_AT_ONCE = 500
_TABLE = "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, content BLOB NOT NULL)"
_PUT = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)"

Answer = TypeVar("Answer")


class SqliteArchive:
    """Implements `runtime.stores.archive.SessionArchive`; one call at a time, in a thread."""

    def __init__(self, database: sqlite3.Connection, path: Path, sealing: ContentSealing = PLAIN) -> None:
        self._database = database
        self._path = path
        self._sealing = sealing
        self._one = anyio.CapacityLimiter(1)

    async def put(self, whole: WholeSession, /) -> None:
        row = (whole.record.id, whole.record.seq, session_to_archive(whole, self._sealing))

        def write() -> None:
            with self._database:
                self._database.execute(_PUT, row)

        await self._run(write)

    async def get(self, session: SessionId, /) -> WholeSession | None:
        def read() -> tuple[bytes] | None:
            found: tuple[bytes] | None = self._database.execute(
                "SELECT content FROM sessions WHERE id = ?", (session,)
            ).fetchone()
            return found

        found = await self._run(read)
        return None if found is None else session_from_archive(session, found[0], self._sealing)

    async def remove(self, session: SessionId, /) -> bool:
        def delete() -> int:
            with self._database:
                count = self._database.execute("DELETE FROM sessions WHERE id = ?", (session,)).rowcount
            if count:  # the log of writes still has what was deleted
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return count

        return await self._run(delete) == 1

    async def sessions(self) -> AsyncIterator[SessionId]:
        after = ""
        while True:

            def read(behind: str = after) -> list[tuple[str]]:
                asked = "SELECT id FROM sessions WHERE id > ? ORDER BY id LIMIT ?"
                return self._database.execute(asked, (behind, _AT_ONCE)).fetchall()

            page = await self._run(read)
            for (id_,) in page:
                yield SessionId(id_)
            if len(page) < _AT_ONCE:
                return
            after = page[-1][0]

    async def _run(self, work: Callable[[], Answer]) -> Answer:
        try:
            return await run_sync(work, limiter=self._one)
        except sqlite3.Error as error:
            raise ArchiveUnavailable(f"The archive {self._path} failed: {error}.") from error


@asynccontextmanager
async def open_sqlite(path: Path, sealing: ContentSealing = PLAIN) -> AsyncIterator[SqliteArchive]:
    """The archive in this file, which is created if missing. Raises ConfigError for a file that is no archive."""
    try:
        database = await run_sync(_open, path)
    except sqlite3.Error as error:
        raise ConfigError(f"retention.archive_url: {path} cannot be used as an archive: {error}.") from error
    with closing(database):
        yield SqliteArchive(database, path, sealing)


def _open(path: Path) -> sqlite3.Connection:
    fresh = not path.exists()
    database = sqlite3.connect(path, timeout=_WAIT_S, check_same_thread=False)
    if fresh:
        path.chmod(0o600)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA secure_delete = ON")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        database.close()
        raise sqlite3.DatabaseError(f"it is of version {version}, this Parley knows version {VERSION}")
    if version < VERSION:  # a gateway that starts on a full disk only reads
        with database:
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version = {VERSION}")
    return database
