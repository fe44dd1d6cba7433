"""The database of a gateway, as commands, features and views need it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from adapters.web.acts import PLATFORM
from gateway.jobs.retention import RetentionRules, SessionErasure
from gateway.settings.tree import Settings
from runtime.core.clock import SystemClock
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.records import RedisPlaceStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.archive import SessionArchive, end_line, file_line, files_of, header_line, session_lines
from runtime.stores.catalog import WholeSession


class GatewayDatabase:
    """The database and the archive. Their stores are made when they are asked for."""

    def __init__(self, settings: Settings, connection: RedisConnection, archive: SessionArchive | None) -> None:
        self.settings = settings
        self.connection = connection
        self.archive = archive

    @property
    def catalog(self) -> RedisSessionCatalog:
        return RedisSessionCatalog(self.connection, self.archive)

    @property
    def tapes(self) -> RedisSessionStore:
        return RedisSessionStore(self.connection, self.archive)

    @property
    def inbox(self) -> RedisInbox:
        return RedisInbox(self.connection)

    @property
    def letters(self) -> RedisDeadLetters:
        """What could not be processed."""
        return RedisDeadLetters(self.connection)

    @property
    def files(self) -> RedisFileStore:
        return RedisFileStore(self.connection, self.settings.files.bounds)

    @property
    def places(self) -> RedisPlaceStore:
        """The places that are there for sessions which live elsewhere."""
        return RedisPlaceStore(self.connection)

    @property
    def erasure(self) -> SessionErasure:
        traces = RedisTraces(self.connection)
        return SessionErasure(
            self.catalog, self.tapes, traces, self.places, lambda address: address.platform == PLATFORM
        )

    @property
    def retention(self) -> RetentionRules:
        catalog = self.catalog
        cold = None if self.archive is None else catalog
        return RetentionRules(catalog, cold, self.erasure, self.settings.retention, SystemClock())

    async def session_file(self, whole: WholeSession, exported_at: datetime) -> AsyncIterator[str]:
        """The lines of a session's file; one without its end is not taken by an import."""
        yield header_line(exported_at)
        for line in session_lines(whole):
            yield line
        count = 0
        for id_ in files_of(whole.facts):
            content = await self.files.content(id_)
            if content is not None:
                yield file_line(id_, content)
                count += 1
        yield end_line(len(whole.facts), count)
