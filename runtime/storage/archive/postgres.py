"""An archive in a PostgreSQL database, for gateways on several machines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from operator import methodcaller
from typing import Any

import asyncpg

from runtime.core.errors import ArchiveUnavailable, ConfigError
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import session_from_archive, session_to_archive
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.stores.catalog import WholeSession

_CONNECT_S = 10.0
_COMMAND_S = 30.0
_POOL = 4
_AT_ONCE = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS parley_sessions (id text PRIMARY KEY, seq bigint NOT NULL, content bytea NOT NULL)
"""
_PUT = """
INSERT INTO parley_sessions VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, content = excluded.content
"""

_BROKEN = (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.InterfaceError, OSError)


class PostgresArchive:
    """Implements `runtime.stores.archive.SessionArchive`, in the table `parley_sessions`.

    A call that found its connection broken is made once more, by a new one; each may be repeated.
    """

    def __init__(self, pool: asyncpg.Pool, sealing: ContentSealing = PLAIN) -> None:
        self._pool = pool
        self._sealing = sealing

    async def put(self, whole: WholeSession, /) -> None:
        row = (whole.record.id, whole.record.seq, session_to_archive(whole, self._sealing))
        await self._run(lambda database: database.execute(_PUT, *row))

    async def get(self, session: SessionId, /) -> WholeSession | None:
        asked = "SELECT content FROM parley_sessions WHERE id = $1"
        found = await self._run(lambda database: database.fetchval(asked, session))
        return None if found is None else session_from_archive(session, found, self._sealing)

    async def remove(self, session: SessionId, /) -> bool:
        asked = "DELETE FROM parley_sessions WHERE id = $1"
        return bool(await self._run(lambda database: database.execute(asked, session)) == "DELETE 1")

    async def sessions(self) -> AsyncIterator[SessionId]:
        asked = 'SELECT id FROM parley_sessions WHERE id COLLATE "C" > $1 ORDER BY id COLLATE "C" LIMIT $2'
        after = ""
        while True:
            page = await self._run(methodcaller("fetch", asked, after, _AT_ONCE))
            for (id_,) in page:
                yield SessionId(id_)
            if len(page) < _AT_ONCE:
                return
            after = page[-1][0]

    async def _run(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        for last in (False, True):
            try:
                async with self._pool.acquire(timeout=_CONNECT_S) as database:
                    return await work(database)
            except _BROKEN as error:
                if last:
                    raise ArchiveUnavailable(f"The archive's PostgreSQL is away: {error}.") from error
            except (asyncpg.PostgresError, TimeoutError) as error:
                raise ArchiveUnavailable(f"The archive's PostgreSQL failed: {error!r}.") from error
        raise AssertionError("a loop over two tries ended without an answer")


@asynccontextmanager
async def open_postgres(url: str, sealing: ContentSealing = PLAIN) -> AsyncIterator[PostgresArchive]:
    """The archive in the database at this URL; its table is created if missing.

    Raises ConfigError if the database refuses us or cannot be reached.
    """
    try:
        pool = await asyncpg.create_pool(
            url, min_size=0, max_size=_POOL, timeout=_CONNECT_S, command_timeout=_COMMAND_S
        )
        await pool.execute(_TABLE)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError) as error:
        raise ConfigError(f"retention.archive_url: the PostgreSQL there cannot be used: {error}.") from error
    try:
        yield PostgresArchive(pool, sealing)
    finally:
        pool.terminate()
