"""Parts that several commands need, each made from the settings; sealing of content, replacement of keys, and the check
of both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from gateway.settings.operation import NO_ARCHIVE
from gateway.settings.tree import Settings
from runtime.core.background import beside
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError, ContentLocked
from runtime.events.happening import Tell, unheard
from runtime.events.service import ArchiveFailed, SandboxUnjailed, StorageDoubted
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.stores.archive import SessionArchive

if TYPE_CHECKING:
    from runtime.llm.models import ModelRegistry
    from runtime.sandbox.monty import MontySandbox
    from runtime.storage.embedded.backup import BackupHead
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.storage.redis.sessions.rekeying import DatabaseRekeying

_NO_POSTGRES = (
    "retention.archive_url names PostgreSQL, which needs one more package: pip install asyncpg. Nothing is archived, "
    "and archived sessions cannot continue."
)
_NOT_OURS = (
    "The database is a server of your own (redis_url), so back it up there, and the archive where it is. "
    "docs/running/backup.md says how."
)
_JAIL_ADVICE = (
    "Install bubblewrap and allow user namespaces, or use a kernel with Landlock; docs/running/nodes.md has more "
    'on containers. With sandbox.jail = "preferred" Parley runs without one.'
)


class Engine(Struct, frozen=True):
    """The parts that execute programs: the models, a line about them for people, and the workers for what they
    write."""

    llm: ModelRegistry
    model_line: str
    sandbox: MontySandbox


@asynccontextmanager
async def open_engine(
    settings: Settings, *, on_event: Tell = unheard, models: tuple[ModelRegistry, str] | None = None
) -> AsyncIterator[Engine]:
    """What executes programs; the models get ready meanwhile: those of the settings, unless `models` has others and a
    line about them. Raises ConfigError as its parts."""
    from gateway.models.opening import open_models

    async with AsyncExitStack() as stack:
        opened = open_models(settings, on_event=on_event) if models is None else nullcontext(models)
        llm, line = await stack.enter_async_context(opened)
        (await stack.enter_async_context(beside())).start_soon(llm.warm_up)
        sandbox = await stack.enter_async_context(open_sandbox(settings, on_event=on_event))
        yield Engine(llm, line, sandbox)


@asynccontextmanager
async def open_storage(
    settings: Settings, *, on_event: Tell = unheard, patience_s: float | None = None
) -> AsyncIterator[RedisConnection]:
    """The database: the Redis of the settings, else the Valkey of the data directory, also while a gateway uses it.

    Who wants to hear of events hears of doubts about that Redis first. Raises ConfigError for one that will not do.
    """
    from runtime.storage.embedded.valkey import EmbeddedValkey
    from runtime.storage.redis.client.connection import open_connection

    async with AsyncExitStack() as stack:
        location: Path | str | None = settings.redis_url
        if location is None:
            location = await stack.enter_async_context(EmbeddedValkey(settings.data_dir))
        sealing = _sealing_of(settings)
        opened = open_connection(location, on_event=on_event, patience_s=patience_s, sealing=sealing)
        connection = await stack.enter_async_context(opened)
        if settings.redis_url is not None and on_event is not unheard:
            from runtime.storage.redis.client.server_check import examine

            for warning in (await examine(connection)).warnings:
                on_event(StorageDoubted(warning))
        yield connection


@contextmanager
def own_folder(settings: Settings, name: str) -> Iterator[Path]:
    """A folder below the data directory for a process beside the gateway, which has a name of its own there. Raises
    ConfigError where another process uses it."""
    from runtime.storage.embedded.data_directory import exclusive_use, prepare

    folder = prepare(prepare(settings.data_dir) / name)
    with exclusive_use(folder):
        yield folder


def back_up(settings: Settings, file: Path) -> BackupHead:
    """Write what the data directory keeps into one file, while its gateway runs or not. Raises ConfigError, and
    StorageUnavailable where the database changes too fast."""
    from runtime.storage.embedded.backup import write_backup

    return write_backup(_kept_by_us(settings), file, SystemClock().now())


def restore(settings: Settings, file: Path, *, replace: bool) -> BackupHead:
    """Put a backup into the data directory, whole or not at all. Raises ConfigError."""
    from runtime.storage.embedded.backup import restore_backup

    return restore_backup(file, _kept_by_us(settings), SystemClock().now(), replace=replace)


def _kept_by_us(settings: Settings) -> Path:
    if settings.redis_url is not None:
        raise ConfigError(_NOT_OURS)
    return settings.data_dir


@asynccontextmanager
async def shared_storage(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[Mapping[str, str]]:
    """The database for several processes on this machine; yields the variables that tell them where it is.

    Without a Redis in the settings it is the Valkey of the data directory, whose archive they share. Nobody else uses
    that directory meanwhile. Raises ConfigError.
    """
    from runtime.storage.embedded.data_directory import exclusive_use, prepare
    from runtime.storage.embedded.valkey import EmbeddedValkey

    data_dir = prepare(settings.data_dir)
    with exclusive_use(data_dir):
        if settings.redis_url is not None:
            yield {}
            return
        archive = settings.retention.archive_url or f"sqlite:///{data_dir / 'archive.sqlite'}"
        async with EmbeddedValkey(data_dir, on_event=on_event) as socket:
            yield {"PARLEY_REDIS_URL": f"unix://{socket}", "PARLEY_RETENTION__ARCHIVE_URL": archive}


@asynccontextmanager
async def open_sandbox(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[MontySandbox]:
    """The workers for what models write, in the limits of the settings, in a jail where the system can.

    Who wants to hear of events hears why there is no jail. Raises ConfigError where the settings require one.
    """
    from runtime.sandbox.monty import MontySandbox, SandboxLimits
    from runtime.sandbox.wrapping import wrap_worker

    limits = SandboxLimits(feed_s=settings.sandbox.seconds, memory_bytes=settings.sandbox.memory_mib * 1024 * 1024)
    with TemporaryDirectory(prefix="parley-") as directory:
        wrapping = await wrap_worker(Path(directory))
        if not wrapping.jailed and settings.sandbox.jail == "required":
            raise ConfigError(f"sandbox.jail is required, and {wrapping.reason}. {_JAIL_ADVICE}")
        if not wrapping.jailed:
            on_event(SandboxUnjailed(wrapping.reason))
        async with MontySandbox(max_workers=settings.sandbox.workers, limits=limits, wrapping=wrapping) as sandbox:
            yield sandbox


@asynccontextmanager
async def open_archive(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[SessionArchive | None]:
    """The archive of the settings; None where there is none, or what it needs is not installed: who wants to hear of
    events is warned. Raises ConfigError for one that cannot be used."""
    url = settings.retention.archive_url
    if url is None and settings.redis_url is None:
        from runtime.storage.embedded.data_directory import prepare

        url = f"sqlite:///{prepare(settings.data_dir) / 'archive.sqlite'}"
    if url is None or url == NO_ARCHIVE:
        yield None
    elif url.startswith("sqlite:"):
        from runtime.storage.archive.sqlite import open_sqlite

        async with open_sqlite(Path(url.removeprefix("sqlite:///")), _sealing_of(settings)) as file:
            yield file
    else:
        try:
            from runtime.storage.archive.postgres import open_postgres
        except ImportError:
            on_event(ArchiveFailed(_NO_POSTGRES))
            yield None
            return
        async with open_postgres(url, _sealing_of(settings)) as database:
            yield database


def _sealing_of(settings: Settings) -> ContentSealing:
    """The sealing of stored content. Raises ConfigError for invalid keys."""
    keys = settings.encryption.keys
    if keys is None:
        return PLAIN
    from runtime.storage.encoding.encryption import ContentEncryption, keys_from

    return ContentEncryption(keys_from(keys.get_secret_value(), "encryption.keys"), settings.encryption.conversations)


def made_key() -> tuple[str, str]:
    """A new key: its id, and its line in a file of keys."""
    from runtime.storage.encoding.encryption import new_key

    key = new_key()
    return key.id, key.line


def key_ids(text: str, name: str) -> list[str]:
    """The ids of the keys in a file, in order; errors call the file `name`. Raises ConfigError."""
    from runtime.storage.encoding.encryption import keys_from

    return [key.id for key in keys_from(text, name)]


def rekeying_of(connection: RedisConnection) -> DatabaseRekeying:
    from adapters.web.acts import PLATFORM
    from runtime.storage.redis.sessions.rekeying import DatabaseRekeying

    return DatabaseRekeying(connection, PLATFORM)


async def renew_archive(connection: RedisConnection, archive: SessionArchive | None) -> int:
    """Rewrite every session in the archive by the current settings; returns the number of sessions that cannot be
    opened and stay as they are.
    """
    from runtime.storage.redis.sessions.catalog import RedisSessionCatalog

    catalog, locked = RedisSessionCatalog(connection), 0
    sessions = [] if archive is None else [session async for session in archive.sessions()]
    for session in sessions:
        try:
            whole = None if archive is None else await archive.get(session)
        except ContentLocked:
            locked += 1
            continue
        if archive is not None and whole is not None:
            await archive.put(whole)
            if await catalog.find(session) is None:  # it was deleted meanwhile
                await archive.remove(session)
    return locked


async def ask_keys(settings: Settings) -> str | None:
    """A line about the encryption of content; None where it is off. Raises ConfigError."""
    sealing, encryption = _sealing_of(settings), settings.encryption
    if sealing is PLAIN:
        return None
    where = ", ".join(encryption.conversations) or "nowhere: new content is stored unencrypted"
    return f"{len(encryption.key_words())} keys, in {'all conversations' if where == '*' else where}"
