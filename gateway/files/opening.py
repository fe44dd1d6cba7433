"""The intake of files, as the composition root opens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gateway.files.intake import IntakeLimits, StoredFileIntake
from gateway.outbound.file_source import Files
from gateway.settings.tree import Settings, process_environment
from runtime.core.clock import SystemClock
from runtime.core.texts import Texts
from runtime.files.process import WorkerReader
from runtime.files.reading import ReadLimits
from runtime.sessions.inbound.received_files import FileIntake
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.operation.counters import RedisCounters

if TYPE_CHECKING:
    from runtime.storage.redis.client.connection import RedisConnection


def intake_of(
    settings: Settings, connection: RedisConnection, files: Files, texts: Callable[[str], Texts]
) -> FileIntake:
    """Who takes what people send; `texts` are those of a platform."""

    own = settings.files
    return StoredFileIntake(
        files,
        RedisFileStore(connection, own.bounds),
        WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars)),
        RedisCounters(connection),
        IntakeLimits(own.per_message, own.per_day, own.person_per_day),
        texts,
        SystemClock(),
    )
