"""Parts that several commands need, each made from the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pydantic import SecretStr

from gateway.access.people import PEOPLE_TABLE, REQUESTS_TABLE, TOLD_TABLE, People, Request
from gateway.encryption import sealing_of
from gateway.jobs.erasure import Erasure
from gateway.jobs.notebook_retention import NotebookRetention
from gateway.jobs.retention import Retention
from gateway.jobs.runner import Job
from gateway.settings.retention import NO_ARCHIVE
from gateway.settings.tree import Settings, process_environment
from runtime.bus import Bus
from runtime.core.background import beside
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError
from runtime.core.files import FileStore
from runtime.core.ids import SessionId
from runtime.core.texts import Texts
from runtime.events.happening import Tell, unheard
from runtime.events.service import ArchiveFailed, SandboxUnjailed, StorageDoubted
from runtime.stores.archive import Archive
from runtime.stores.catalog import SessionCatalog
from runtime.stores.dead_letters import DeadLetters
from runtime.stores.inbox import NOTICE, InboxEvent
from runtime.stores.meeting_places import PlaceStore
from runtime.stores.nodes import NodeStore
from runtime.stores.reports import ReportStore
from runtime.stores.schedule_runs import RunStore
from runtime.stores.schedules import ScheduleStore
from runtime.stores.usage import UsageStore
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import TapeReader

if TYPE_CHECKING:
    from adapters.records import Records
    from gateway.clients.feed import Feed
    from gateway.cluster.node import Node
    from gateway.inbound.routing import Routes
    from gateway.observability.gauges import Gauges
    from gateway.outbound.file_source import Files
    from gateway.reports.again import Decisions
    from runtime.language.program import Program
    from runtime.llm.models import Models
    from runtime.memories.books import Memories
    from runtime.sandbox.monty import MontySandbox
    from runtime.sessions.inbound.received_files import FileIntake
    from runtime.sessions.node_context import NodeContext
    from runtime.sessions.registry import Registry
    from runtime.storage.embedded.backup import Backup
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.storage.redis.inbox import RedisInbox
    from runtime.stores.inbox import Inbox


_NO_POSTGRES = (
    "retention.archive_url names PostgreSQL, which needs one more package: pip install asyncpg. Nothing is archived, "
    "and archived sessions cannot continue."
)
_NOT_OURS = (
    "The database is a server of your own (redis_url), so back it up there, and the archive where it is. "
    "docs/backup.md says how."
)
_JAIL_ADVICE = (
    "Install bubblewrap and allow user namespaces, or use a kernel with Landlock; docs/operating.md has more on "
    'containers. With sandbox.jail = "preferred" Parley runs without one.'
)


def plain(secret: SecretStr | None) -> str | None:
    """A secret as plain text."""
    return None if secret is None else secret.get_secret_value()


@dataclass(frozen=True, slots=True)
class Engine:
    """What executes programs: the models, a line about them for people, and the workers for what they write."""

    llm: Models
    model_line: str
    sandbox: MontySandbox


@asynccontextmanager
async def open_engine(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[Engine]:
    """What executes programs; the models get ready meanwhile. Raises ConfigError as its parts."""
    from gateway.models.opening import open_models
    from runtime.llm.client import warm_up

    async with AsyncExitStack() as stack:
        llm, line = await stack.enter_async_context(open_models(settings, on_event=on_event))
        (await stack.enter_async_context(beside())).start_soon(warm_up, llm)
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
        sealing = sealing_of(settings)
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


def back_up(settings: Settings, file: Path) -> Backup:
    """Write what the data directory keeps into one file, while its gateway runs or not. Raises ConfigError, and
    StorageUnavailable where the database changes too fast."""
    from runtime.storage.embedded.backup import write_backup

    return write_backup(_kept_by_us(settings), file, SystemClock().now())


def restore(settings: Settings, file: Path, *, replace: bool) -> Backup:
    """Put a backup into the data directory, whole or not at all. Raises ConfigError."""
    from runtime.storage.embedded.backup import restore_backup

    return restore_backup(file, _kept_by_us(settings), SystemClock().now(), replace=replace)


def _kept_by_us(settings: Settings) -> Path:
    """The data directory, where the state is in it."""
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


def people_in(connection: RedisConnection, clock: Clock) -> People:
    """The people and their roles, from the database."""
    from runtime.storage.redis.records import RedisRecords

    people, requests, told = (RedisRecords(connection, table) for table in (PEOPLE_TABLE, REQUESTS_TABLE, TOLD_TABLE))
    return People(people, requests, told, clock)


def records_in(connection: RedisConnection, table: str) -> Records:
    """A durable table of texts, from the database."""
    from runtime.storage.redis.records import RedisRecords

    return RedisRecords(connection, table)


def snapshots_in(connection: RedisConnection) -> Callable[[SessionId, str], Awaitable[Snapshot | None]]:
    """The newest snapshot of a session, of a version of the rules, from the database."""
    from runtime.storage.redis.sessions.store import RedisSessionStore

    return RedisSessionStore(connection).snapshot


def shards_in(connection: RedisConnection) -> Shards:
    """What is known of the shards and nodes, from the database."""
    from runtime.storage.redis.nodes import RedisNodeStore
    from runtime.storage.redis.queue_depths import RedisQueueDepths
    from runtime.storage.redis.shard_view import RedisShardView

    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    view = RedisShardView(connection)
    return Shards(nodes, fronts, view.holders, view.awake, RedisQueueDepths(connection).waiting)


def usage_in(connection: RedisConnection) -> UsageStore:
    """What models were used, from the database."""
    from runtime.storage.redis.usage import RedisUsage

    return RedisUsage(connection)


async def tell_later(connection: RedisConnection, request: Request, text: str) -> None:
    """Have the gateway tell somebody, who asked to be let in, what became of it: now, or when it runs again.

    Raises InboxFull and StorageUnavailable.
    """
    from runtime.storage.redis.inbox import RedisInbox

    id_, now = f"access.{request.code}", SystemClock().now()
    notice = InboxEvent(id_, request.address, request.person_id, request.name, text, now, kind=NOTICE)
    await RedisInbox(connection).add(notice)


def inbox_in(connection: RedisConnection) -> Inbox:
    """The inboxes of conversations, in the database."""
    from runtime.storage.redis.inbox import RedisInbox

    return RedisInbox(connection)


@asynccontextmanager
async def open_archive(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[Archive | None]:
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

        async with open_sqlite(Path(url.removeprefix("sqlite:///")), sealing_of(settings)) as file:
            yield file
    else:
        try:
            from runtime.storage.archive.postgres import open_postgres
        except ImportError:
            on_event(ArchiveFailed(_NO_POSTGRES))
            yield None
            return
        async with open_postgres(url, sealing_of(settings)) as database:
            yield database


@dataclass(frozen=True, slots=True)
class Shards:
    """The nodes, who holds which shard, how many sessions are at work, and how many events and pages wait in shards."""

    nodes: NodeStore
    fronts: NodeStore
    holders: Callable[[], Awaitable[Mapping[int, str]]]
    awake: Callable[[], Awaitable[int]]
    waiting: Callable[[Collection[int]], Awaitable[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Keeping:
    """The database as the commands for it need it."""

    letters: DeadLetters
    catalog: SessionCatalog
    tapes: TapeReader
    files: FileStore
    erasure: Erasure
    retention: Retention
    notebooks: NotebookRetention
    places: PlaceStore
    schedules: ScheduleStore
    runs: RunStore
    inbox: RedisInbox
    reports: ReportStore

    def jobs(self, bus: Bus) -> Sequence[Job]:
        """The work that the rules of `[retention]` make."""
        return self.retention.job(bus), self.notebooks.job(bus)


def keeping_of(settings: Settings, connection: RedisConnection, archive: Archive | None) -> Keeping:
    """Dead letters, sessions, files and schedules, from the database and the archive."""
    from adapters.web.acts import PLATFORM
    from runtime.storage.redis.files import RedisFileStore
    from runtime.storage.redis.inbox import RedisInbox
    from runtime.storage.redis.notebooks.store import RedisNotebooks
    from runtime.storage.redis.places import RedisPlaceStore
    from runtime.storage.redis.reports import RedisReports
    from runtime.storage.redis.schedule_runs import RedisRuns
    from runtime.storage.redis.schedules import RedisSchedules
    from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
    from runtime.storage.redis.sessions.dead_letters import RedisDeadLetters
    from runtime.storage.redis.sessions.store import RedisSessionStore
    from runtime.storage.redis.sessions.traces import RedisTraces

    catalog, tapes = RedisSessionCatalog(connection, archive), RedisSessionStore(connection, archive)
    traces, places = RedisTraces(connection), RedisPlaceStore(connection)
    erasure = Erasure(catalog, tapes, traces, places, lambda address: address.platform == PLATFORM)
    cold, files = None if archive is None else catalog, RedisFileStore(connection, settings.files.bounds)
    retention = Retention(catalog, cold, erasure, settings.retention, SystemClock())
    kept = RedisNotebooks(connection, tapes.news)
    notebooks = NotebookRetention(kept, settings.retention.notebooks_days, SystemClock())
    return Keeping(
        *(RedisDeadLetters(connection), catalog, tapes, files, erasure, retention, notebooks, places),
        *(RedisSchedules(connection), RedisRuns(connection), RedisInbox(connection), RedisReports(connection)),
    )


def feed_in(connection: RedisConnection, clock: Clock) -> Feed:
    """The events of all shards for the clients of this process."""
    from gateway.clients.feed import Feed
    from gateway.clients.readers import READERS_TABLE, Readers
    from runtime.storage.redis.event_log import RedisEventLog
    from runtime.storage.redis.records import RedisRecords

    return Feed(RedisEventLog(connection), Readers(RedisRecords(connection, READERS_TABLE), clock))


def decisions_of(keeping: Keeping) -> Decisions:
    """What owners decide about reports."""
    from gateway.reports.again import Decisions

    return Decisions(keeping.reports, keeping.catalog, keeping.tapes, keeping.inbox, SystemClock())


def gauges_of(node: Node, registry: Registry, sandbox: MontySandbox, connection: RedisConnection) -> Gauges:
    """The sources of the gauges of a node."""
    from gateway.observability.gauges import Gauges
    from runtime.storage.redis.queue_depths import RedisQueueDepths

    return Gauges(
        lambda: node.shards,
        lambda: len(registry),
        lambda: sum(registry.loads().values()),
        lambda: sandbox.busy,
        lambda: sandbox.workers,
        lambda: sandbox.wrapping.jailed,
        RedisQueueDepths(connection).waiting,
    )


def front_gauges(connection: RedisConnection) -> Gauges:
    """The sources of the gauges of a front, which serves no conversation and has no workers."""
    from gateway.observability.gauges import Gauges
    from runtime.storage.redis.queue_depths import RedisQueueDepths

    return Gauges(frozenset, int, int, int, int, bool, RedisQueueDepths(connection).waiting)


def memories_in(
    settings: Settings, programs: Mapping[str, Program], routes: Routes, connection: RedisConnection, clock: Clock
) -> Memories:
    """What the programs remember of people. Raises ConfigError for a program that says neither yes nor no."""
    from gateway.inbound.memory import OFF_TABLE, RecordedSilence, remembers
    from gateway.programs.served import AsItIsNow
    from runtime.memories.books import Memories
    from runtime.storage.redis.memories import RedisMemories
    from runtime.storage.redis.records import RedisRecords

    own, silence = settings.memory, RecordedSilence(RedisRecords(connection, OFF_TABLE))
    remembers(programs, routes.memory, otherwise=own.on)
    on = AsItIsNow(lambda: remembers(programs, routes.memory, otherwise=own.on))
    return Memories(RedisMemories(connection), clock, on, silence, own.limits)


def intake_of(
    settings: Settings, connection: RedisConnection, files: Files, texts: Callable[[str], Texts]
) -> FileIntake:
    """Who takes what people send; `texts` are those of a platform."""
    from gateway.files.intake import IntakeLimits, StoredFileIntake
    from runtime.files.process import WorkerReader
    from runtime.files.reading import ReadLimits
    from runtime.storage.redis.counters import RedisCounters
    from runtime.storage.redis.files import RedisFileStore

    own = settings.files
    return StoredFileIntake(
        files,
        RedisFileStore(connection, own.bounds),
        WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars)),
        RedisCounters(connection),
        IntakeLimits(own.per_message, own.per_day),
        texts,
        SystemClock(),
    )


def voiced(around: NodeContext, models: Models, settings: Settings, connection: RedisConnection) -> NodeContext:
    """The context with who puts recordings into words, and who speaks, where models do."""
    from gateway.voice.listening import ModelListener
    from gateway.voice.speaking import VOICE_TABLE, ModelSpeaker
    from runtime.llm.client import SPEAK, TRANSCRIBE
    from runtime.storage.redis.counters import RedisCounters
    from runtime.storage.redis.records import RedisRecords

    ear, mouth, own, tell = models.voice(TRANSCRIBE), models.voice(SPEAK), settings.voice, around.bus.publish
    if ear is not None and around.intake is not None:
        listener = ModelListener(
            *(ear, around.intake, RedisCounters(connection), own.limits, around.allowance),
            lambda platform: around.on(platform).texts,
            tell,
            around.clock,
        )
        around = replace(around, listener=listener)
    if mouth is not None:
        records = RedisRecords(connection, VOICE_TABLE)
        speaker = ModelSpeaker(mouth, records, own.spoken_chars, around.allowance, tell, around.clock)
        around = replace(around, speaker=speaker)
    return around
