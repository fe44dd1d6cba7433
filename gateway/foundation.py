"""The parts on which everything else is built: settings, stores, model and sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio.abc import TaskGroup

from gateway.clients.admission import Admission
from gateway.clients.agents import Registers
from gateway.clients.bus import ClientBus
from gateway.clients.feed import Feed
from gateway.clients.tasks import TaskDoor
from gateway.cluster.renewal import Renewal, in_thread
from gateway.extensions.loading import load_extensions
from gateway.files.intake import IntakeLimits, StoredFileIntake
from gateway.inbound.routing import Routes
from gateway.inbound.usage_limits import Limits
from gateway.jobs.runner import JOBS_TABLE, Jobs
from gateway.jobs.schedules import Schedule
from gateway.observability.debugger.server import Debugger
from gateway.outbound.file_source import Files
from gateway.outbound.pages import Outbound
from gateway.participants.desk import Desk
from gateway.participants.visit import Office
from gateway.parts import keeping_of
from gateway.programs.tool_servers import remote_servers
from gateway.settings.clients import client_scopes, client_tokens
from gateway.settings.tree import Settings, process_environment
from runtime.bus import Bus
from runtime.channels.extensions import ExtendedChannels
from runtime.core.clock import Clock
from runtime.core.texts import Texts
from runtime.files.process import WorkerReader
from runtime.files.reading import ReadLimits
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.llm.sight import Sight
from runtime.meetings.showing import MeetingHabits
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.alarm import Alarm
from runtime.sessions.node_context import NodeContext
from runtime.sessions.resting import Resting
from runtime.sessions.schedules.schedules import Attend, Schedules
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.counters import RedisCounters
from runtime.storage.redis.event_log import RedisEventLog
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.mailboxes import RedisMailboxes
from runtime.storage.redis.nodes import RedisNodeStore
from runtime.storage.redis.places import RedisPlaceStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.schedules import RedisSchedules
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.timers import RedisTimers
from runtime.stores.archive import Archive
from runtime.stores.sessions import LeaseHolder


@dataclass(frozen=True, slots=True)
class Foundation:
    """The basis of all other parts, from the settings to the connection of the database."""

    settings: Settings
    routes: Routes
    schedules: Sequence[Schedule]
    programs: Mapping[str, Program]
    llm: LLMClient
    model_line: str
    sandbox: MontySandbox
    connection: RedisConnection
    archive: Archive | None
    clock: Clock
    bus: Bus
    data_dir: Path
    texts: Texts
    debugger: Debugger | None


def jobs_of(foundation: Foundation, inbox: RedisInbox, holder: LeaseHolder) -> Jobs:
    """The periodic jobs that one of the nodes does for all."""
    leases, done = RedisLeaseStore(foundation.connection), RedisRecords(foundation.connection, JOBS_TABLE)
    keeping = keeping_of(foundation.settings, foundation.connection, foundation.archive)
    jobs = [*(schedule.job(inbox) for schedule in foundation.schedules), keeping.retention.job(foundation.bus)]
    return Jobs(jobs, leases, done, holder, foundation.clock, foundation.bus)


def renewal_of(connection: RedisConnection, holder: LeaseHolder, clock: Clock) -> Renewal:
    """The renewer of this node's leases, with its own thread and connection."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[RedisLeaseStore, RedisNodeStore]]:
        async with connection.in_another_loop() as other:
            yield RedisLeaseStore(other), RedisNodeStore(other)

    return Renewal(opened, holder, clock, runner=in_thread)


def schedules_of(foundation: Foundation, inbox: RedisInbox, attend: Attend, tasks: TaskGroup) -> Schedules:
    """The schedules of this node's conversations, which ring in `tasks`."""
    limits = foundation.settings.schedules.limits
    made = Schedules(RedisSchedules(foundation.connection), inbox, foundation.clock, limits, attend)
    tasks.start_soon(made.run)
    return made


def node_context_of(
    foundation: Foundation, inbox: RedisInbox, outbound: Outbound, files: Files, limits: Limits, tasks: TaskGroup
) -> NodeContext:
    """The context of this node's sessions; their background work starts in `tasks`."""
    settings, clock = foundation.settings, foundation.clock
    servers = remote_servers(settings, foundation.programs.values(), clock, foundation.bus, tasks)
    store = RedisSessionStore(foundation.connection, foundation.archive)
    alarm = Alarm(RedisTimers(foundation.connection), store, inbox, clock)
    tasks.start_soon(alarm.run)
    extensions = load_extensions(settings.extensions.modules)
    extended = ExtendedChannels(extensions.channels, foundation.bus)
    tasks.start_soon(extended.run)
    return NodeContext(
        foundation.programs,
        store,
        outbound,
        foundation.sandbox,
        foundation.llm,
        clock,
        foundation.bus,
        files=files,
        intake=_intake(foundation, outbound, files),
        sight=Sight(foundation.llm, settings.files.sees),
        vision_model=settings.files.vision_model,
        texts=foundation.texts,
        texts_on=outbound.texts,
        busy={**dict.fromkeys(foundation.programs, settings.busy), **foundation.routes.busy},
        allowance=limits.allowance,
        idle_s=settings.nodes.idle_s,
        resting=Resting(settings.nodes.resting),
        transcript_chars=settings.limits.transcript_chars,
        questions_alone=settings.asks_alone,
        alarm=alarm,
        servers=servers,
        tool_rules=settings.tools.as_rules,
        places=RedisPlaceStore(foundation.connection),
        meetings=MeetingHabits(settings.meetings.threads, settings.meetings.show),
        tasks=settings.tasks.limits,
        mailboxes=_mailboxes(foundation),
        debugger=None if foundation.debugger is None else foundation.debugger.watch,
        extended=extended,
        calls=extensions.calls,
        seen=bool(settings.clients),
    )


def _intake(foundation: Foundation, outbound: Outbound, files: Files) -> StoredFileIntake:
    own, connection = foundation.settings.files, foundation.connection
    return StoredFileIntake(
        files,
        RedisFileStore(connection, own.bounds),
        WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars)),
        RedisCounters(connection),
        IntakeLimits(own.per_message, own.per_day),
        lambda platform: outbound.texts.get(platform, foundation.texts),
        foundation.clock,
    )


def _mailboxes(foundation: Foundation) -> RedisMailboxes:
    return RedisMailboxes(foundation.connection, bound=foundation.settings.participants.mailbox_messages)


def bus_of(foundation: Foundation, inbox: RedisInbox, tasks: TaskGroup) -> ClientBus | None:
    """The bus for clients, whose feed runs in `tasks`; None if there are none."""
    own, connection, clock = foundation.settings, foundation.connection, foundation.clock
    if not own.clients:
        return None
    feed = Feed(RedisEventLog(connection))
    tasks.start_soon(feed.run)
    return ClientBus(
        Admission(client_tokens(own.clients), client_scopes(own.clients), clock),
        feed,
        TaskDoor(
            foundation.programs,
            RedisSessionStore(connection, foundation.archive),
            inbox,
            inbox.knows,
            clock,
            own.tasks.within_s,
        ),
        Registers(
            RedisNodeStore(connection).living,
            keeping_of(own, connection, foundation.archive).catalog,
            list(own.participants.tokens),
        ),
        clock,
    )


def desk_of(foundation: Foundation) -> Desk | None:
    """The endpoint for participants in other processes; None if there are none."""
    tokens = foundation.settings.participants.known()
    chars = foundation.settings.limits.message_chars
    office = Office(_mailboxes(foundation), RedisInbox(foundation.connection), foundation.clock, foundation.bus, chars)
    return Desk(tokens, office) if tokens else None
