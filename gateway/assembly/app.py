"""A gateway from its settings: built, started, and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace
from starlette.applications import Starlette

from adapters.adapter import AnswersHttp, CanShowTyping, HoldsConnections, Inbound
from adapters.pages.platform_context import FileSource
from adapters.pages.presenter import PagePresenter
from adapters.pages.signs import PlatformReactions, StatusMessages, TypingIndicator
from adapters.platform_clock import clock_of
from adapters.records import Records
from adapters.web.adapter import WebAdapter
from gateway.access.admission import PlatformAccess, PlatformOwners
from gateway.access.people import OWNER_PLACES_TABLE, KnownPeople, OwnerNotices
from gateway.assembly import foundation as ground
from gateway.assembly.announcement import all_lines, url_here
from gateway.assembly.doors import bus_of, chat_of, tape_views, tapes_of
from gateway.assembly.parts import Engine, open_archive, open_engine, open_storage
from gateway.assembly.reloads import Affected, reloading_of, versions_of
from gateway.assembly.stores import people_in
from gateway.assembly.web_chat import first_owner_lines, room_rules, room_tables
from gateway.capabilities import FEATURES
from gateway.catalog import AdapterGround, ListedPlatform, is_web, listed
from gateway.cluster.bots import BotLeases, PlatformSchedulers
from gateway.cluster.node import ClusterFront
from gateway.database import GatewayDatabase
from gateway.feature import EntrancePart, ServingGround
from gateway.inbound.commands import menu, translated_menus
from gateway.inbound.earlier import EarlierMessages, HeardPlaces
from gateway.inbound.entrance import CHOSEN_TABLE, ORIGINS_TABLE, ConversationOrigins, Entrance
from gateway.inbound.late import AbsenceNotices, LateMessages
from gateway.inbound.router import InboundRouter
from gateway.models.answers import answers_on
from gateway.models.opening import COOLDOWNS_TABLE, check_programs
from gateway.observability.logs import LogWriter
from gateway.observability.tracing.setup import counting, telling_spans
from gateway.observability.watching import NodeGauges, SecretMasking
from gateway.outbound.pages import NodeFileAccess, NodeOutbound
from gateway.overview.tallies import ServiceTallies
from gateway.programs.loading import ServedPrograms, compile_routes, routes_of
from gateway.programs.reloading import ProgramSet
from gateway.service import ClusterMember, GatewayReady, GatewayService, ServedPlatform, ServingNode
from gateway.settings.tree import Settings, secrets
from gateway.web.files import hook_routes
from gateway.web.guard import build_health, health_routes
from gateway.web.server import ServerRules, listen
from gateway.web.server import serve as serve_web
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.texts import load_texts
from runtime.language.first_prompts import first_prompts
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.embedded.data_directory import exclusive_use, node_id, note_address, prepare
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisShardView
from runtime.storage.redis.records import RedisPlaceStore, RedisRecords
from runtime.storage.redis.rooms import RedisRoomNews
from runtime.storage.redis.sessions.kept import RedisKeptWords
from runtime.stores.sessions import LeaseHolder

if TYPE_CHECKING:
    from gateway.dev.board import DevBoard
    from gateway.observability.debugger.server import DebugAddress, SessionDebugger
_CLOSE_LIMIT_S = 0.3
"""The time for an adapter to close its connections: people wait for a stop to end."""


async def serve(
    settings: Settings,
    programs: Sequence[Path],
    *,
    on_ready: Callable[[GatewayReady], None],
    debug: DebugAddress | None = None,
    read: Callable[[], Settings] | None = None,
    board: DevBoard | None = None,
) -> None:
    """Run the gateway until cancelled, with a `board` beside the chat, or a debug server if `debug` asks for one. A
    reload gets the settings from `read`. Raises ConfigError and ProgramError before anything is shown to people.
    """
    clock = SystemClock()
    bus = Bus(clock)
    texts = load_texts(settings.language, settings.texts_dir)
    routes = routes_of(settings, programs)
    settings.nodes.check_role(settings.redis_url, debugs=debug is not None)
    for feature in FEATURES:
        feature.check(settings, routes, dict.fromkeys(settings.platform_names, True))
    masking = SecretMasking(secrets(settings))
    LogWriter(settings.logs, masking, told=(lambda _: False) if board is None else board.tells).attach(bus)
    data_dir = prepare(settings.data_dir)
    async with AsyncExitStack() as stack:
        stack.enter_context(exclusive_use(data_dir))
        listen(settings.web.host, settings.web.port).close()
        compiled = ServedPrograms(await compile_routes(settings, routes))
        for feature in FEATURES:
            feature.judge(settings, routes, compiled)
        check_programs(settings, compiled.values())
        await stack.enter_async_context(telling_spans(settings.tracing, bus, masking, node_id(data_dir)))
        engine = None
        if settings.nodes.role != "front":
            given = None if board is None or board.models is None else board.models(bus)
            engine = await stack.enter_async_context(open_engine(settings, on_event=bus.publish, models=given))
        answers = await stack.enter_async_context(answers_on(bus))
        seen = ServiceTallies(bus)
        connection = await stack.enter_async_context(open_storage(settings, on_event=bus.publish))
        if engine is not None and engine.llm.cooldowns is not None:
            engine.llm.cooldowns.keep_in(RedisRecords(connection, COOLDOWNS_TABLE))
        versions, pinned = await versions_of(
            settings, partial(RedisRecords, connection), compiled, bus.publish, serves=engine is not None
        )
        archive = await stack.enter_async_context(open_archive(settings, on_event=bus.publish))
        debugger = board or (None if debug is None or engine is None else _debugger(debug, compiled, engine, bus))
        database = GatewayDatabase(settings, connection, archive)
        foundation = ground.with_shared_views(
            ground.GatewayFoundation(
                *(settings, routes, compiled, connection, database, clock, bus, texts),
                *(engine, data_dir, debugger, masking, versions, answers),
            ),
            seen,
            node_id(data_dir),
        )
        async with anyio.create_task_group() as tasks:
            if foundation.debugger is not None:
                await tasks.start(foundation.debugger.serve)
            served = ProgramSet(read or (lambda: settings), programs, compiled, versions, pinned)
            await _start(foundation, served, stack, tasks, on_ready)


def _debugger(debug: DebugAddress, compiled: ServedPrograms, engine: Engine, bus: Bus) -> SessionDebugger:
    from gateway.observability.debugger.server import SessionDebugger  # noqa: PLC0415 - for those who write programs

    return SessionDebugger(debug, compiled, engine.sandbox, bus)


async def _start(
    foundation: ground.GatewayFoundation,
    programs: ProgramSet,
    stack: AsyncExitStack,
    tasks: TaskGroup,
    on_ready: Callable[[GatewayReady], None],
) -> None:
    clock, bus, settings, connection = foundation.clock, foundation.bus, foundation.settings, foundation.connection
    commands, kept = (
        menu(foundation.texts, foundation.routes.commands),
        RedisFileStore(connection, settings.files.bounds),
    )
    holder = LeaseHolder(node_id(foundation.data_dir), settings.nodes.lease_s)
    web = _web_adapter(foundation, holder, kept, commands)
    inbox, records = RedisInbox(connection), partial(RedisRecords, connection)
    platforms: dict[str, ServedPlatform] = {}
    made_from = AdapterGround(
        settings,
        clock,
        records,
        commands=commands,
        texts=foundation.texts,
        translations=translated_menus(foundation.texts, settings.texts_dir, foundation.routes.commands),
        programs=foundation.routes.choosable,
        admits=partial(_admits, platforms),
        prompts=partial(_prompts, foundation),
    )
    chosen = list(listed(made_from, web))
    for feature in FEATURES:
        feature.check(settings, foundation.routes, _platforms_on(settings, chosen))
    cluster = await ground.cluster_of(foundation, holder, inbox, tasks)
    files = NodeFileAccess({one.adapter.name: one.adapter for one in chosen}, kept)
    file_source = FileSource(files.load, foundation.texts)
    outbound = await _outbound(chosen, cluster.schedulers, file_source, foundation, tasks, stack)
    people = people_in(connection, clock)
    owners = PlatformOwners(people, {one.adapter.name: one.rules for one in chosen})
    limits = ground.limits_of(foundation, owners, tasks)
    notices = OwnerNotices(records(OWNER_PLACES_TABLE), owners.has, inbox, outbound.texts, clock)
    ground.follow_models(foundation, notices, tasks)
    serving = ServingGround(
        *(platforms, outbound.texts, tasks, notices),
        *(foundation.masking, foundation.answers, foundation.models, limits),
        *(HeardPlaces(RedisPlaceStore(connection)), files),
    )
    earlier = _earlier(foundation, platforms)
    member, gauges, own = _member(replace(foundation, earlier=earlier), cluster, inbox, outbound, serving)
    affected, news = Affected(platforms, owners, limits), partial(RedisRoomNews, connection, holder.node)
    reloads = reloading_of(foundation, programs, affected, notices.tell, news, tasks)
    entrance = _entrance(foundation, inbox, outbound, serving)
    platforms |= await _platforms(
        *(chosen, people, records, clock),
        replace(
            entrance,
            features=entrance.features | own | EntrancePart({"reload": reloads.answer}, hears=[earlier.keep]),
        ),
    )
    # An agent node has no pages, and hears in the web chat only which nodes do.
    heard = {name: one for name, one in platforms.items() if settings.nodes.people_come or is_web(name)}
    service = GatewayService(member, BotLeases(cluster.leases, cluster.roster, cluster.renewal), heard, bus, clock)
    scrape = counting(settings.metrics, bus, gauges)
    if not settings.nodes.people_come:
        app = build_health(service.not_ready, scrape, settings.web.host, settings.web.public_hosts)
    else:
        tapes = tapes_of(foundation.database, clock, tasks, partial(tape_views, foundation))
        others = [*health_routes(service.not_ready, scrape), *hook_routes(_receivers(chosen))]
        app = await chat_of(
            web, foundation, bus_of(foundation, tasks), tapes, kept, others, owners, heard[web.name].access
        )
    port = await _open_web(web, app, foundation, tasks)
    await service.start(tasks, foundation.models)
    if foundation.engine is not None:
        tasks.start_soon(ground.jobs_of(foundation, cluster.patient).run)

    lines = [*all_lines(foundation, port, cluster.roster.nodes, heard), *await first_owner_lines(foundation, port)]
    on_ready(
        GatewayReady(
            lines, partial(_drain, foundation, service, cluster.schedulers), reloads.reloading.reload, web.attend
        )
    )


def _member(
    foundation: ground.GatewayFoundation,
    cluster: ground.Cluster,
    inbox: RedisInbox,
    outbound: NodeOutbound,
    serving: ServingGround,
) -> tuple[ClusterMember, NodeGauges, EntrancePart]:
    """What this process is to the others, its gauges, and what it does where people come in."""
    connection, engine = foundation.connection, foundation.engine
    if engine is None:
        absence = AbsenceNotices(cluster.roster, foundation.clock, outbound.say, foundation.texts, foundation.bus)
        front = ClusterFront(cluster.roster, cluster.renewal, cluster.fronts, absence.run)
        gauges = NodeGauges(frozenset, int, int, int, int, bool, RedisShardView(connection).waiting)  # it serves nobody
        return front, gauges, EntrancePart(kept=[absence.note])
    for feature in FEATURES:
        part = feature.node(foundation, serving)
        serving.parts.extend(() if part is None else (part,))
    around = ground.node_context_of(foundation, engine, inbox, outbound, serving)
    registry = ConversationRegistry(around, inbox, serving.tasks)
    gauges = ground.gauges_of(cluster.node, registry, engine.sandbox, connection)
    return ServingNode(cluster.node, registry), gauges, EntrancePart()


def _earlier(foundation: ground.GatewayFoundation, platforms: Mapping[str, ServedPlatform]) -> EarlierMessages:
    kept = RedisKeptWords(foundation.connection)
    return EarlierMessages(platforms, foundation.settings.context, kept, foundation.clock)


def _platforms_on(settings: Settings, chosen: Sequence[ListedPlatform]) -> Mapping[str, bool]:
    return {name: any(one.adapter.name == name for one in chosen) for name in settings.platform_names}


def _receivers(chosen: Sequence[ListedPlatform]) -> dict[str, AnswersHttp]:
    return {one.adapter.name: one.adapter for one in chosen if isinstance(one.adapter, AnswersHttp)}


async def _drain(
    foundation: ground.GatewayFoundation,
    service: GatewayService,
    schedulers: PlatformSchedulers,
    within_s: float | None,
) -> None:
    if foundation.debugger is not None:
        foundation.debugger.close()
    await service.drain(foundation.settings.nodes.drain_s if within_s is None else within_s)
    await schedulers.drain()


async def _open_web(web: WebAdapter, app: Starlette, foundation: ground.GatewayFoundation, tasks: TaskGroup) -> int:
    """Start serving pages, and say where; returns the port."""
    settings = foundation.settings.web
    tasks.start_soon(web.tell_pages)
    rules = ServerRules(settings.trusted_proxies, foundation.bus)
    port: int = await tasks.start(serve_web, app, settings.host, settings.port, rules)
    note_address(foundation.data_dir, url_here(settings.host, port))
    return port


def _web_adapter(
    foundation: ground.GatewayFoundation, holder: LeaseHolder, files: RedisFileStore, commands: Mapping[str, str]
) -> WebAdapter:
    news = RedisRoomNews(foundation.connection, holder.node)
    tables, rules = room_tables(foundation.connection), room_rules(foundation)
    return WebAdapter(tables, foundation.clock, files=files, commands=commands, news=news, rules=rules)


def _prompts(foundation: ground.GatewayFoundation, platform: str) -> Sequence[str]:
    program = foundation.programs.get(foundation.routes.first_on(platform) or "")
    return () if program is None else [prompt for agent in program.agents for prompt in first_prompts(agent)]


async def _admits(platforms: Mapping[str, ServedPlatform], event: Inbound) -> str | None:
    return await platforms[event.address.platform].router.admits(event)


def _entrance(
    foundation: ground.GatewayFoundation,
    inbox: RedisInbox,
    outbound: NodeOutbound,
    serving: ServingGround,
) -> Entrance:
    entering = [feature.entrance(foundation, serving) for feature in FEATURES]
    return Entrance(
        inbox=inbox,
        outbound=outbound,
        bus=foundation.bus,
        texts=foundation.texts,
        routes=foundation.routes,
        origins=_origins(foundation),
        limits=serving.limits,
        owners=serving.owners,
        places=serving.places,
        features=reduce(or_, entering, EntrancePart()),
    )


def _origins(foundation: ground.GatewayFoundation) -> ConversationOrigins:
    records = RedisRecords(foundation.connection, ORIGINS_TABLE)
    return ConversationOrigins(records, RedisRecords(foundation.connection, CHOSEN_TABLE))


async def _platforms(
    chosen: Sequence[ListedPlatform],
    people: KnownPeople,
    records: Callable[[str], Records],
    clock: Clock,
    entrance: Entrance,
) -> dict[str, ServedPlatform]:
    platforms: dict[str, ServedPlatform] = {}
    for one in chosen:
        access = PlatformAccess(one.adapter.name, one.rules, people, clock)
        await access.open()
        late, dated = None, clock_of(one.adapter, clock)
        if one.max_age_s is not None:
            kept = records(f"late:{one.adapter.name}")
            late = LateMessages(kept, entrance.inbox, dated, entrance.texts, one.max_age_s)
        router = InboundRouter(one.adapter, access, entrance, late)
        platforms[one.adapter.name] = ServedPlatform(one.adapter, access, router, one.exclusive)
    return platforms


async def _outbound(
    chosen: Sequence[ListedPlatform],
    schedulers: PlatformSchedulers,
    file_source: FileSource,
    foundation: ground.GatewayFoundation,
    tasks: TaskGroup,
    stack: AsyncExitStack,
) -> NodeOutbound:
    clock, tell = foundation.clock, foundation.bus.publish
    presenters: dict[str, PagePresenter] = {}
    typing: dict[str, TypingIndicator] = {}
    marks: dict[str, PlatformReactions] = {}
    for one in chosen:
        adapter = one.adapter
        scheduler = await schedulers.open(adapter)
        presenters[adapter.name] = PagePresenter(
            adapter, scheduler, clock, on_event=tell, tasks=tasks, file_source=file_source
        )
        marks[adapter.name] = PlatformReactions(adapter, scheduler, tasks)
        if isinstance(adapter, CanShowTyping):
            notes = StatusMessages(
                RedisRecords(foundation.connection, f"notes:{adapter.name}"), node_id(foundation.data_dir)
            )
            typing[adapter.name] = sign = TypingIndicator(adapter, scheduler, clock, tasks, notes)
            await sign.open()
        if isinstance(adapter, HoldsConnections):
            stack.push_async_callback(_closed, adapter)
    texts = {one.adapter.name: foundation.texts.marked(one.adapter.capabilities.command_mark) for one in chosen}
    followed = foundation.settings.a2a.on or foundation.settings.mcp.on
    return NodeOutbound(presenters, typing, marks, texts, tasks, _origins(foundation), clock, clients=followed)


async def _closed(adapter: HoldsConnections) -> None:
    with anyio.move_on_after(_CLOSE_LIMIT_S, shield=True):
        await adapter.aclose()
