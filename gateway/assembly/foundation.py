"""The foundation of a process: settings, stores, model and sandbox, the other nodes, and what each session is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from gateway.access.admission import PlatformOwners
from gateway.access.people import OwnerNotices
from gateway.assembly.parts import Engine
from gateway.assembly.stores import drains_in, person_limits_in
from gateway.capabilities import FEATURES
from gateway.cluster.bots import PlatformSchedulers, ShardShares
from gateway.cluster.node import ClusterNode
from gateway.cluster.renewal import LeaseRenewal, in_thread
from gateway.cluster.roster import ClusterRoster
from gateway.extensions.extension import load_extensions
from gateway.extensions.node import extending
from gateway.feature import FeatureGround, ServingGround
from gateway.inbound.earlier import EarlierMessages
from gateway.inbound.usage_limits import UsageLimits
from gateway.jobs.runner import JOBS_TABLE, JobRunner
from gateway.models.answers import CallKeeper, ModelTroubles
from gateway.observability.watching import NodeGauges, SecretMasking
from gateway.outbound.pages import NodeOutbound
from gateway.overview.status import PLATFORMS_TABLE, SeenPlatforms, SharedPlatforms
from gateway.overview.tallies import SERVICES_TABLE, ServiceTallies, SharedServices
from gateway.programs.loading import AsItIsNow
from runtime.bus import EventStream
from runtime.core.clock import Clock
from runtime.llm.models import ModelRegistry
from runtime.meetings.meeting import MeetingHabits
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.features import NodePart
from runtime.sessions.idle import RestingSessions, TimerAlarm
from runtime.sessions.node_context import NodeContext, ProgramHabits
from runtime.sessions.registry import ConversationRegistry
from runtime.sessions.versions import NoVersions, ProgramVersions
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore, RedisShardView, RedisShareStore, RedisTimers
from runtime.storage.redis.records import RedisCounters, RedisRecords
from runtime.storage.redis.sessions.kept import RedisModelCalls
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.archive import SessionArchive
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, LeaseHolder

if TYPE_CHECKING:
    from gateway.dev.board import DevBoard
    from gateway.observability.debugger.server import SessionDebugger

_LOOP_RENEWS_S = 10.0
"""The shortest lifetime of leases that the gateway's loop renews, since that loop may be busy: jobs, and shares of
platforms' limits. Nobody waits for either.
"""


_FRONT_WEIGHT = 0.25
"""A front's part of a platform's limits, compared with a node's: it says only what needs no session. Chosen."""


class GatewayFoundation(FeatureGround, frozen=True):
    """The basis of all other parts, from the settings to the connection of the database."""

    engine: Engine | None
    """None on a front, which executes no program."""
    data_dir: Path
    debugger: SessionDebugger | DevBoard | None
    masking: SecretMasking
    versions: ProgramVersions | None = None
    answers: EventStream | None = None
    """The answers of models since the start, which are counted."""
    platforms: SharedPlatforms | None = None
    services: SharedServices | None = None
    """How models and servers of tools answer; as the platforms, None where nobody can ask for them."""
    earlier: EarlierMessages | None = None
    """Knows what was said in the places of platforms; None before these are known."""

    @property
    def models(self) -> ModelRegistry | None:
        """The models, None on a front."""
        return None if self.engine is None else self.engine.llm


class Cluster(Struct, frozen=True):
    """The other processes, and what we share with them. `patient` holds what the gateway's loop renews itself; the
    `node` of a front does not run.
    """

    roster: ClusterRoster
    fronts: RedisNodeStore
    leases: RedisLeaseStore
    renewal: LeaseRenewal
    node: ClusterNode
    schedulers: PlatformSchedulers
    patient: LeaseHolder


def with_shared_views(foundation: GatewayFoundation, seen: ServiceTallies, node: str) -> GatewayFoundation:
    """With what this process and all others see, where the settings let somebody ask for that. `seen` is how models and
    servers of tools have answered since the start of this process, the `node`."""
    connection, clock = foundation.connection, foundation.clock
    if not foundation.settings.is_overseen:
        return foundation
    return replace(
        foundation,
        platforms=SharedPlatforms(
            SeenPlatforms(foundation.bus), RedisRecords(connection, PLATFORMS_TABLE), node, clock
        ),
        services=SharedServices(seen, RedisRecords(connection, SERVICES_TABLE), node, clock),
    )


async def cluster_of(
    foundation: GatewayFoundation, holder: LeaseHolder, inbox: RedisInbox, tasks: TaskGroup
) -> Cluster:
    """The cluster as this process sees it; our share of platforms' limits is kept in `tasks`."""
    connection, clock, serves = foundation.connection, foundation.clock, foundation.engine is not None
    roster = ClusterRoster(RedisNodeStore(connection), holder, clock, enters=serves, drains=drains_in(connection))
    leases, renewal = RedisLeaseStore(connection), renewal_of(connection, holder, clock, front=not serves)
    node = ClusterNode(leases, inbox, roster, renewal, foundation.bus, park_s=foundation.settings.nodes.drain_s)
    patient = LeaseHolder(holder.node, max(holder.ttl_s, _LOOP_RENEWS_S))
    shares = ShardShares(RedisShareStore(connection), patient, clock, roster, weight=1.0 if serves else _FRONT_WEIGHT)
    await shares.open()
    tasks.start_soon(shares.run)
    for view in (foundation.platforms, foundation.services):
        if view is not None:
            tasks.start_soon(view.run)
    schedulers = PlatformSchedulers(
        partial(RedisRecords, connection),
        shares,
        clock,
        tasks,
        may_show=lambda conversation: node.may_show(shard_of(conversation)),
    )
    node.on_sure = schedulers.resume
    return Cluster(roster, RedisNodeStore(connection, fronts=True), leases, renewal, node, schedulers, patient)


def jobs_of(foundation: GatewayFoundation, holder: LeaseHolder) -> JobRunner:
    leases, done = RedisLeaseStore(foundation.connection), RedisRecords(foundation.connection, JOBS_TABLE)
    database, bus = foundation.database, foundation.bus
    jobs = [*(job for feature in FEATURES for job in feature.jobs(foundation)), database.retention.job(bus)]
    return JobRunner(jobs, leases, done, holder, foundation.clock, bus)


def limits_of(foundation: GatewayFoundation, owners: PlatformOwners, tasks: TaskGroup) -> UsageLimits:
    """The limits, which follow in `tasks` what models use."""
    counters = RedisCounters(foundation.connection)
    people = person_limits_in(foundation.connection)
    limits = UsageLimits(foundation.settings.limits, counters, owners.has, foundation.texts, foundation.clock, people)
    tasks.start_soon(limits.follow, foundation.bus)
    return limits


def follow_models(foundation: GatewayFoundation, owners: OwnerNotices, tasks: TaskGroup) -> None:
    """Keep in `tasks` what models were sent, and tell owners of their troubles."""
    tasks.start_soon(CallKeeper(RedisModelCalls(foundation.connection)).follow, foundation.bus)
    ModelTroubles(owners, foundation.clock).start(foundation.bus, tasks)


def renewal_of(connection: RedisConnection, holder: LeaseHolder, clock: Clock, *, front: bool = False) -> LeaseRenewal:
    """The renewer of this process's leases, with its own thread and connection. It announces a node, or a front."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[RedisLeaseStore, RedisNodeStore]]:
        async with connection.in_another_loop() as other:
            yield RedisLeaseStore(other), RedisNodeStore(other, fronts=front)

    return LeaseRenewal(opened, holder, clock, runner=in_thread)


def node_context_of(
    foundation: GatewayFoundation,
    engine: Engine,
    inbox: RedisInbox,
    outbound: NodeOutbound,
    serving: ServingGround,
) -> NodeContext:
    """The context of this node's sessions; their background work starts in `tasks`."""
    settings, clock, tasks, parts = foundation.settings, foundation.clock, serving.tasks, serving.parts
    hearing = [one for one in parts if type(one).committing is not NodePart.committing]
    store = FollowedSessionStore(foundation.connection, foundation.database.archive, hearing)
    alarm = TimerAlarm(RedisTimers(foundation.connection), store, inbox, clock)
    tasks.start_soon(alarm.run)
    extensions = load_extensions(settings.extensions.modules)
    own = {name: program for part in parts for name, program in part.programs.items()}
    return NodeContext(
        AsItIsNow(lambda: {**foundation.programs, **own}),
        store,
        outbound,
        engine.sandbox,
        engine.llm,
        foundation.bus,
        past=None if foundation.earlier is None else foundation.earlier.before,
        texts=foundation.texts,
        texts_on=outbound.texts,
        habits=ProgramHabits(
            AsItIsNow(lambda: {**dict.fromkeys(foundation.programs, settings.busy), **foundation.routes.busy}),
            AsItIsNow(lambda: foundation.routes.models),
            settings.limits.transcript_chars,
            settings.asks_alone,
            MeetingHabits(settings.meetings.threads, settings.meetings.show),
            settings.is_overseen,
        ),
        versions=foundation.versions or NoVersions(),
        resting=RestingSessions(settings.nodes.resting, settings.nodes.idle_s, alarm),
        places=serving.places,
        debugger=None if foundation.debugger is None else foundation.debugger.watch,
        features=[*parts, extending(extensions, foundation.bus, tasks)],
    )


def gauges_of(
    node: ClusterNode, registry: ConversationRegistry, sandbox: MontySandbox, connection: RedisConnection
) -> NodeGauges:
    return NodeGauges(
        lambda: node.shards,
        lambda: len(registry),
        lambda: sum(registry.loads().values()),
        lambda: sandbox.busy,
        lambda: sandbox.workers,
        lambda: sandbox.wrapping.jailed,
        RedisShardView(connection).waiting,
    )


class FollowedSessionStore(RedisSessionStore):
    """The store of sessions, of whose commits parts hear before and after."""

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None, parts: Sequence[NodePart]) -> None:
        super().__init__(connection, archive)
        self._parts = parts

    async def commit(self, commit: Commit, /) -> None:
        for part in self._parts:
            await part.committing(commit)
        await super().commit(commit)
        for part in self._parts:
            await part.committed(commit)
