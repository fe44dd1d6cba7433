"""The parts on which everything else is built: settings, stores, model and sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup

from adapters.web.adapter import WebAdapter
from gateway.access.admission import Owners
from gateway.access.owner_notices import OwnerNotices
from gateway.assembly.console_parts import with_views
from gateway.assembly.parts import Engine, plain
from gateway.assembly.standards import PUSHES_TABLE, Shared, doors_of
from gateway.assembly.stores import decisions_of, feed_in, keeping_of, memories_in, records_in, usage_in
from gateway.catalog import platform_names
from gateway.clients.admission import Admission
from gateway.clients.agents import Registers
from gateway.clients.bus import ClientBus
from gateway.clients.task_service import TaskDoor, TaskService
from gateway.cluster.node import Node
from gateway.cluster.renewal import Renewal, in_thread
from gateway.cluster.roster import Roster
from gateway.cluster.shares import Shares
from gateway.dev.door import with_board
from gateway.extensions.loading import load_extensions
from gateway.feedback.ledger import FEEDBACK_TABLE, Feedback
from gateway.files.opening import intake_of
from gateway.inbound.routing import Routes
from gateway.inbound.usage_limits import Limits
from gateway.isolation.node.isolation import Isolated
from gateway.isolation.opening import conversations_of
from gateway.jobs.runner import JOBS_TABLE, Jobs
from gateway.jobs.schedules import Schedule
from gateway.models.owners import KINDS, ModelTroubles
from gateway.models.usage import Ledger
from gateway.observability.masking import Masking
from gateway.observability.observer import Observer
from gateway.outbound.file_source import Files
from gateway.outbound.pages import Outbound
from gateway.outbound.schedulers import Schedulers
from gateway.participants.desk import Desk
from gateway.participants.visit import Office
from gateway.programs.served import AsItIsNow
from gateway.programs.tool_servers import remote_servers
from gateway.reports.account import Accounts
from gateway.reports.again import Decisions
from gateway.reports.asked_model import AskedModel
from gateway.reports.desk import FailureDesk
from gateway.reports.inquiry import Inquiry
from gateway.reports.task import Calls, DebugTasks, calls_of, programs_of
from gateway.settings.connections.clients import client_scopes, client_tokens
from gateway.settings.tree import Settings
from gateway.tapes.journals import Journals
from gateway.tapes.search.search import Search
from gateway.tapes.service import TapeService
from gateway.tapes.tapes import Tapes
from gateway.web.app import WebOptions
from gateway.web.identity import persistent_secret
from gateway.web.names import ReservedNames, names_of_agents
from gateway.web.scrape import Scrape
from runtime.bus import Bus
from runtime.channels.extensions import ExtendedChannels
from runtime.core.clock import Clock
from runtime.core.ids import schedule_id
from runtime.core.texts import Texts
from runtime.events.service import ScheduleFailing
from runtime.language.program import Program
from runtime.llm.models import VISION
from runtime.llm.sight import Sight
from runtime.meetings.showing import MeetingHabits
from runtime.sessions.alarm import Alarm
from runtime.sessions.failures import Failure
from runtime.sessions.node_context import NodeContext
from runtime.sessions.resting import Resting
from runtime.sessions.schedules.runs import Failing, Runs
from runtime.sessions.schedules.schedules import Attend, Schedules
from runtime.sessions.versions import NoVersions, Versions
from runtime.storage.embedded.data_directory import node_id
from runtime.storage.encoding.sealing import PLAIN
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.mailboxes import RedisMailboxes
from runtime.storage.redis.notebooks.store import RedisNotebooks
from runtime.storage.redis.operation.counters import RedisCounters
from runtime.storage.redis.operation.nodes import RedisNodeStore
from runtime.storage.redis.operation.reports import RedisReports
from runtime.storage.redis.operation.schedule_runs import RedisRuns
from runtime.storage.redis.places import RedisPlaceStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.schedules import RedisSchedules
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.shares import RedisShareStore
from runtime.storage.redis.timers import RedisTimers
from runtime.stores.archive import Archive
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import LeaseHolder

_LOOP_RENEWS_S = 10.0
"""The shortest lifetime of leases that the gateway's loop renews, since that loop may be busy: jobs, and shares of
platforms' limits. Nobody waits for either.
"""


_FRONT_WEIGHT = 0.25
"""A front's part of a platform's limits, compared with a node's: it says only what needs no session. Chosen."""


@dataclass(frozen=True, slots=True)
class Foundation:
    """The basis of all other parts, from the settings to the connection of the database."""

    settings: Settings
    routes: Routes
    schedules: Sequence[Schedule]
    programs: Mapping[str, Program]
    engine: Engine | None
    """None on a front, which executes no program."""
    connection: RedisConnection
    archive: Archive | None
    clock: Clock
    bus: Bus
    data_dir: Path
    texts: Texts
    debugger: Observer | None
    masking: Masking
    versions: Versions | None = None
    isolated: Isolated | None = None
    """None where every task is executed inline, or none at all."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The other processes, and what we share with them. `patient` holds what the gateway's loop renews itself; the
    `node` of a front does not run.
    """

    roster: Roster
    fronts: RedisNodeStore
    leases: RedisLeaseStore
    renewal: Renewal
    node: Node
    schedulers: Schedulers
    patient: LeaseHolder


async def cluster_of(foundation: Foundation, holder: LeaseHolder, inbox: RedisInbox, tasks: TaskGroup) -> Cluster:
    """The cluster as this process sees it; our share of platforms' limits is kept in `tasks`."""
    connection, clock, serves = foundation.connection, foundation.clock, foundation.engine is not None
    roster = Roster(RedisNodeStore(connection), holder, clock, enters=serves)
    leases, renewal = RedisLeaseStore(connection), renewal_of(connection, holder, clock, front=not serves)
    node = Node(leases, inbox, roster, renewal, foundation.bus, park_s=foundation.settings.nodes.drain_s)
    patient = LeaseHolder(holder.node, max(holder.ttl_s, _LOOP_RENEWS_S))
    shares = Shares(RedisShareStore(connection), patient, clock, roster, weight=1.0 if serves else _FRONT_WEIGHT)
    await shares.open()
    tasks.start_soon(shares.run)
    schedulers = Schedulers(
        partial(RedisRecords, connection),
        shares,
        clock,
        tasks,
        may_show=lambda conversation: node.may_show(shard_of(conversation)),
    )
    node.on_sure = schedulers.resume
    return Cluster(roster, RedisNodeStore(connection, fronts=True), leases, renewal, node, schedulers, patient)


def jobs_of(foundation: Foundation, inbox: RedisInbox, runs: Runs, holder: LeaseHolder) -> Jobs:
    """The periodic jobs that one of the nodes does for all."""
    leases, done = RedisLeaseStore(foundation.connection), RedisRecords(foundation.connection, JOBS_TABLE)
    keeping = keeping_of(foundation.settings, foundation.connection, foundation.archive)
    jobs = [*(schedule.job(inbox, runs) for schedule in foundation.schedules), *keeping.jobs(foundation.bus)]
    return Jobs(jobs, leases, done, holder, foundation.clock, foundation.bus)


def limits_of(foundation: Foundation, owners: Owners, tasks: TaskGroup) -> Limits:
    """The limits, which follow in `tasks` what models use."""
    counters = RedisCounters(foundation.connection)
    limits = Limits(foundation.settings.limits, counters, owners.has, foundation.texts, foundation.clock)
    tasks.start_soon(limits.follow, foundation.bus)
    return limits


def renewal_of(connection: RedisConnection, holder: LeaseHolder, clock: Clock, *, front: bool = False) -> Renewal:
    """The renewer of this process's leases, with its own thread and connection. It announces a node, or a front."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[RedisLeaseStore, RedisNodeStore]]:
        async with connection.in_another_loop() as other:
            yield RedisLeaseStore(other), RedisNodeStore(other, fronts=front)

    return Renewal(opened, holder, clock, runner=in_thread)


@dataclass(frozen=True, slots=True)
class Reporting:
    """The owners' notices, the desk for failures that nobody catches, what owners decide about them, and the runs of
    schedules, which turn to the desk."""

    owners: OwnerNotices
    desk: FailureDesk
    decisions: Decisions
    runs: Runs
    calls: Calls


def _follow_models(foundation: Foundation, owners: OwnerNotices, tasks: TaskGroup) -> None:
    troubles = ModelTroubles(owners, foundation.clock)
    tasks.start_soon(Ledger(usage_in(foundation.connection), foundation.clock).follow, foundation.bus)
    ratings = Feedback(records_in(foundation.connection, FEEDBACK_TABLE), foundation.clock)
    tasks.start_soon(ratings.follow, foundation.bus)
    for kind in KINDS:
        tasks.start_soon(troubles.follow, foundation.bus, kind.name)


def reporting_of(foundation: Foundation, owners: OwnerNotices, tasks: TaskGroup) -> Reporting:
    """What failures come to, and runs of schedules; what models cost is counted in `tasks`."""
    _follow_models(foundation, owners, tasks)
    desk, calls = _failure_desk(foundation, owners)
    decisions = decisions_of(keeping_of(foundation.settings, foundation.connection, foundation.archive))
    return Reporting(owners, desk, decisions, _runs(foundation, desk), calls)


def _failure_desk(foundation: Foundation, owners: OwnerNotices) -> tuple[FailureDesk, Calls]:
    """The desk, and the calls of the tasks that look into failures."""
    own, wanted, connection = foundation, foundation.settings.reports, foundation.connection
    tapes, store = RedisSessionStore(connection, own.archive), RedisReports(connection)
    accounts = Accounts(tapes, own.masking, own.texts)
    asked = AskedModel(wanted.ask_model, own.programs, AsItIsNow(lambda: own.routes.models), tapes)
    debugging = DebugTasks(RedisInbox(connection), own.clock, wanted.within_s, asked) if wanted.ask_model else None
    llm = own.engine.llm if wanted.ask_model and own.engine is not None else None
    publish = own.bus.publish
    inquiry = None if llm is None else Inquiry(llm, store, accounts, tapes, own.programs, wanted, asked, publish)
    desk = FailureDesk(store, own.programs, accounts, owners, own.texts, own.clock, own.bus, debugging)
    return desk, calls_of(inquiry, owners, wanted.within_s)


def _runs(foundation: Foundation, desk: FailureDesk) -> Runs:
    async def tell(failing: Failing) -> None:
        name, run = failing.schedule.removeprefix(schedule_id("")), failing.run
        shown = failing.address.key if name == failing.schedule else name
        foundation.bus.publish(ScheduleFailing(failing.schedule, failing.address.key, run.why))
        failure = Failure(
            *("schedule", run.session, run.seq, failing.address, "", "", "", shown, "", run.why, run.id),
        )
        await desk.take(failure)

    return Runs(RedisRuns(foundation.connection), foundation.clock, tell)


def schedules_of(foundation: Foundation, inbox: RedisInbox, attend: Attend, runs: Runs, tasks: TaskGroup) -> Schedules:
    """The schedules of this node's conversations, which ring in `tasks`."""
    limits = foundation.settings.schedules.limits
    made = Schedules(RedisSchedules(foundation.connection), inbox, foundation.clock, limits, attend, runs)
    tasks.start_soon(made.run)
    return made


def node_context_of(  # noqa: PLR0913 - the parts of a node
    foundation: Foundation,
    engine: Engine,
    inbox: RedisInbox,
    outbound: Outbound,
    files: Files,
    limits: Limits,
    schedules: Schedules,
    reporting: Reporting,
    tasks: TaskGroup,
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
        AsItIsNow(lambda: {**programs_of(reporting.calls), **foundation.programs}),
        store,
        outbound,
        engine.sandbox,
        engine.llm,
        clock,
        foundation.bus,
        files=files,
        intake=intake_of(settings, foundation.connection, files, lambda on: outbound.texts.get(on, foundation.texts)),
        sight=Sight(engine.llm, settings.files.sees),
        describes=VISION in settings.models,
        texts=foundation.texts,
        texts_on=outbound.texts,
        busy=AsItIsNow(lambda: {**dict.fromkeys(foundation.programs, settings.busy), **foundation.routes.busy}),
        models=AsItIsNow(lambda: foundation.routes.models),
        versions=foundation.versions or NoVersions(),
        allowance=limits.allowance,
        spent=limits.spent,
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
        memories=memories_in(settings, foundation.programs, foundation.routes, foundation.connection, clock),
        task_places=settings.tasks.addresses(platform_names(settings)),
        task_conversation=conversations_of(foundation.isolated),
        mailboxes=_mailboxes(foundation),
        debugger=None if foundation.debugger is None else foundation.debugger.watch,
        extended=extended,
        calls={**reporting.calls, **extensions.calls},
        seen=bool(settings.clients) or settings.console.on,
        schedules=schedules,
        runs=reporting.runs,
        reports=reporting.desk,
    )


def _mailboxes(foundation: Foundation) -> RedisMailboxes:
    return RedisMailboxes(foundation.connection, bound=foundation.settings.participants.mailbox_messages)


def bus_of(foundation: Foundation, tasks: TaskGroup) -> ClientBus | None:
    """The bus for clients, whose feed runs in `tasks`; None if there are none."""
    own, connection, clock = foundation.settings, foundation.connection, foundation.clock
    if not own.clients and not own.console.on:
        return None
    feed, inbox = feed_in(connection, clock), RedisInbox(connection)
    tasks.start_soon(feed.run)
    admission = Admission(client_tokens(own.clients), client_scopes(own.clients), clock)
    store = RedisSessionStore(connection, foundation.archive)
    limits, refuses = own.tasks.limits, own.tasks.isolation.refusal
    service = TaskService(feed, TaskDoor(foundation.programs, store, inbox, inbox.knows, clock, limits, refuses))
    catalog = keeping_of(own, connection, foundation.archive).catalog
    shared = Shared(
        admission,
        service,
        feed,
        foundation.programs,
        catalog,
        RedisRecords(connection, PUSHES_TABLE),
        RedisLeaseStore(connection),
        LeaseHolder(node_id(foundation.data_dir)),
        clock,
    )
    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    registers = Registers(nodes.living, fronts.living, catalog, list(own.participants.tokens))
    return ClientBus(admission, feed, service, registers, clock, doors_of(own, shared, tasks))


def tapes_of(
    settings: Settings, connection: RedisConnection, archive: Archive | None, clock: Clock, stack: AsyncExitStack
) -> TapeService | None:
    """The tape service for clients, which ends with `stack`; None if there are none."""
    if not settings.clients and not settings.console.on:
        return None
    sessions, inbox = RedisSessionStore(connection, archive), RedisInbox(connection)
    catalog, bounds = keeping_of(settings, connection, archive).catalog, settings.tapes
    notebooks = RedisNotebooks(connection, sessions.news, notebooks=bounds.notebooks, entries=bounds.entries)
    sealed = connection.sealing.shared is not PLAIN
    search = Search(notebooks, settings.data_dir / "tapes-index.sqlite", sealed=sealed)
    stack.callback(search.close)
    return TapeService(
        Admission(client_tokens(settings.clients), client_scopes(settings.clients), clock),
        Tapes(notebooks, catalog, sessions),
        Journals(catalog, inbox, inbox.knows, clock),
        search,
        clock,
    )


def desk_of(foundation: Foundation) -> Desk | None:
    """The endpoint for participants in other processes; None if there are none."""
    tokens = foundation.settings.participants.known()
    chars = foundation.settings.limits.message_chars
    office = Office(_mailboxes(foundation), RedisInbox(foundation.connection), foundation.clock, foundation.bus, chars)
    return Desk(tokens, office) if tokens else None


async def web_options_of(
    web: WebAdapter, foundation: Foundation, scrape: Scrape | None, bus: ClientBus | None, tapes: TapeService | None
) -> WebOptions:
    """The options of the web server."""
    own = foundation.settings.web
    records = RedisRecords(foundation.connection, web.name)
    secret = await records.put_first("secret", persistent_secret(foundation.data_dir / "web-secret"))
    desk, reserved = desk_of(foundation), ReservedNames(names_of_agents(foundation.programs.values()))
    options = WebOptions(secret, plain(own.password), own.host, own.public_hosts, desk, scrape, bus, tapes, reserved)
    return with_board(with_views(options, foundation), foundation.debugger)
