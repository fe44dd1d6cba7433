"""The routes for other programs: bus, tapes, participants, the console and the views of the gateway, and the options of
the web server. And `/bus/v1` or `/tape/v1` alone, served by a process that holds no shard, no bot and no page.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount

from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from gateway.access.admission import PlatformAccess, PlatformOwners
from gateway.access.people import AccessRequest
from gateway.assembly import stores
from gateway.assembly.announcement import listed_under, url_here
from gateway.assembly.foundation import GatewayFoundation
from gateway.assembly.parts import open_archive, open_storage, own_folder
from gateway.assembly.web_chat import barred_from, log_in_of, owner_asked
from gateway.capabilities import FEATURES
from gateway.clients.bus import PREFIX as BUS
from gateway.clients.bus import ClientBus
from gateway.clients.journals import ClientJournals, ClosedRooms
from gateway.clients.requests import ClientAdmission
from gateway.clients.tasks.service import TaskDoor, TaskService
from gateway.clients.views import FeatureDoor, GatewayView
from gateway.console.door import LOGINS_TABLE, ConsoleDoor, ConsoleLogins
from gateway.database import GatewayDatabase
from gateway.feature import ClientGround, TapeGround, WebGround
from gateway.observability.logs import LogWriter
from gateway.observability.watching import SecretMasking
from gateway.overview.decisions import DecisionRoutes, PeopleRoutes
from gateway.overview.models import ModelRoutes, ToolRoutes
from gateway.overview.programs import ProgramRoutes, SeenRefusals
from gateway.overview.session_views import MeetingRoutes, SessionViews
from gateway.overview.sessions import SessionRoutes, TalkMaker
from gateway.overview.status import GatewayShards, NodeRoutes, StatusRoute
from gateway.programs.loading import compile_routes, routes_of
from gateway.programs.reloading import PROGRAM_NEWS
from gateway.programs.versions import PIN_NEWS, TEXTS_TABLE, VERSIONS_TABLE, KeptVersions
from gateway.service import GatewayReady
from gateway.settings.forms import revealed
from gateway.settings.operation import client_scopes, client_tokens
from gateway.settings.tree import Settings, secrets
from gateway.web.app import ServiceMount, build_web
from gateway.web.files import FileRoutes
from gateway.web.guard import RequestGuard, allowed_hosts, health_routes
from gateway.web.identity import WebIdentities, persistent_secret
from gateway.web.logins.door import OpenPages
from gateway.web.server import ServerRules
from gateway.web.server import serve as serve_web
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError
from runtime.core.files import FileStore
from runtime.core.ids import SessionId
from runtime.core.texts import load_texts
from runtime.storage.embedded.data_directory import node_id
from runtime.storage.redis.leases import RedisNodeStore, RedisShardView
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.sessions.kept import RedisModelCalls
from runtime.tape.snapshot import TapeMoments

Announce = Callable[[GatewayReady], None]


def bus_of(foundation: GatewayFoundation, tasks: TaskGroup) -> ClientBus | None:
    """The bus for clients, whose feed runs in `tasks`; None if there are none."""
    own, connection, clock = foundation.settings, foundation.connection, foundation.clock
    if not own.is_overseen:
        return None
    feed, inbox = stores.feed_in(connection, clock), foundation.database.inbox
    tasks.start_soon(feed.run)
    admission = ClientAdmission(client_tokens(own.clients), client_scopes(own.clients), clock)
    store, catalog = foundation.database.tapes, foundation.database.catalog
    service = TaskService(feed, TaskDoor(foundation.programs, store, inbox, clock, own.tasks.limits))
    ground = ClientGround(
        *(own, connection, node_id(foundation.data_dir), clock, admission, service, feed, foundation.programs, catalog)
    )
    doors = [route for feature in FEATURES for route in feature.doors(ground, tasks)]
    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    seats = list(own.participants.tokens)
    return ClientBus(admission, feed, service, nodes.living, fronts.living, catalog, seats, clock, doors)


def tapes_of(
    database: GatewayDatabase, clock: Clock, tasks: TaskGroup, views: Callable[[ClientAdmission], Sequence[BaseRoute]]
) -> Sequence[Mount]:
    """The tape service for clients, with further routes; nothing if there are none."""
    own = database.settings
    if not own.is_overseen:
        return ()
    admission = ClientAdmission(client_tokens(own.clients), client_scopes(own.clients), clock)
    ground = TapeGround(database, admission, clock, views(admission))
    return [mount for feature in FEATURES for mount in feature.tapes(ground, tasks)]


async def chat_of(  # noqa: PLR0913 - the parts of the chat
    web: WebAdapter,
    foundation: GatewayFoundation,
    bus: ClientBus | None,
    tapes: Sequence[Mount],
    files: FileStore,
    others: Sequence[BaseRoute],
    owners: PlatformOwners,
    access: PlatformAccess,
) -> Starlette:
    """The application of the web chat, with all that is beside it: also these other routes. `access` is that of the
    chat."""
    own, connection, clock = foundation.settings.web, foundation.connection, foundation.clock
    secret = await RedisRecords(connection, web.name).put_first(
        "secret", persistent_secret(foundation.data_dir / "web-secret")
    )
    pages = OpenPages()
    log_in = log_in_of(foundation, WebIdentities(secret, revealed(own.password), clock), pages)
    owner = owner_asked(log_in, owners)
    console = _console_of(foundation, owner)
    mounts: list[BaseRoute] = [*tapes]
    if foundation.debugger is not None:
        from gateway.dev.door import board_routes  # noqa: PLC0415 - for those who write programs

        mounts = [*board_routes(foundation.debugger, owner, foundation.models), *tapes]
    if bus is not None:
        views = bus_views(foundation, bus.admission)
        mounts += [ServiceMount(BUS, replace(bus, views=views).app()), *bus.doors]
    mounts += [] if console is None else console.routes()
    mounts += FileRoutes(log_in, files, web.shown_files, clock).routes()
    for feature in FEATURES:
        mounts += feature.pages(foundation, WebGround(log_in, web.board))
    return build_web(
        web,
        log_in,
        [*mounts, *others],
        around=[] if console is None else [Middleware(console.around)],
        hosts=allowed_hosts(own.host, own.public_hosts),
        pages=pages,
        barred=barred_from(foundation, owners, access),
    )


def _moments(database: GatewayDatabase) -> TapeMoments:
    tapes = database.tapes
    return TapeMoments(tapes, lambda session, version, seq: tapes.snapshot(session, version, until=seq))


def _console_of(
    ground: GatewayFoundation, owner: Callable[[HTTPConnection], Awaitable[WebVisitor | None]]
) -> ConsoleDoor | None:
    """The door of the console, where the settings have one; `owner` finds the owner of the chat who asks."""
    own, clock = ground.settings.console, ground.clock
    if not ground.settings.has_console:
        return None
    logins = ConsoleLogins(own.passwords(), stores.records_in(ground.connection, LOGINS_TABLE), clock)
    links = stores.links_in(ground.connection, clock)
    return ConsoleDoor(logins, links, owner, clock, ground.bus.publish, own.acts, own.private)


def bus_views(ground: GatewayFoundation, admission: ClientAdmission) -> Sequence[BaseRoute]:
    """The routes that show the whole gateway. The ground has the shared views."""
    connection, clock, database, seen = ground.connection, ground.clock, ground.database, ground.services
    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    view = RedisShardView(connection)
    shards = GatewayShards(nodes, fronts, view.holders, view.awake, view.waiting)
    assert ground.platforms is not None
    assert seen is not None

    async def delete(session: SessionId) -> bool:
        return bool(await database.erasure.sessions([session]))

    async def of_features(program: str) -> Mapping[str, Any]:
        return {key: told for one in FEATURES for key, told in (await one.practice(ground, program)).items()}

    async def of_models(names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        return _together([await one.models(ground, names) for one in FEATURES])

    async def status() -> Mapping[str, Mapping[str, Any]]:
        return _together([await one.status(ground) for one in FEATURES])

    async def tell_approved(request: AccessRequest) -> None:
        await stores.tell_later(connection, request, ground.texts("access.approved"))

    door = FeatureDoor(
        *(admission.gateway_reader, admission.gateway_writer),
        *(ClosedRooms(database.catalog, database.tapes), _moments(database)),
    )
    catalog, tapes, inbox, programs = database.catalog, database.tapes, database.inbox, ground.programs
    people, drains, engine = stores.people_in(connection, clock), stores.drains_in(connection), ground.engine
    file_of = partial(_file_of, database, clock)
    views: list[GatewayView] = [
        NodeRoutes(door, drains, nodes.living, nodes.tell),
        StatusRoute(door, shards, ground.platforms.data, catalog, database.letters, people, drains, status, clock),
        SessionRoutes(
            *(
                door,
                catalog,
                tapes,
                ClientJournals(catalog, inbox, clock),
                RedisModelCalls(connection).spent,
            ),
            *(delete, file_of, nodes.living, TalkMaker(file_of), programs),
        ),
        DecisionRoutes(door, people, database.letters, tell_approved),
        PeopleRoutes(door, people, stores.person_limits_in(connection), database.erasure.person),
        ProgramRoutes(
            *(door, catalog, tapes, programs, SeenRefusals(ground.bus), stores.records_in(connection, VERSIONS_TABLE)),
            *(of_features, stores.news_by(connection, "console", PROGRAM_NEWS), stores.pins_in(connection, clock)),
            stores.news_by(connection, "console", PIN_NEWS),
        ),
        ModelRoutes(
            *(door, None if engine is None else engine.llm, seen, shards.processes, ground.bus.publish, of_models),
        ),
        ToolRoutes(door, programs, seen, shards.processes),
        MeetingRoutes(door, catalog),
    ]
    return [
        *(route for view in views for route in view.routes()),
        *(route for feature in FEATURES for route in feature.views(ground, door)),
    ]


def _together(told: Iterable[Mapping[str, Mapping[str, Any]]]) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for named in told:
        for name, own in named.items():
            found[name] = found.get(name, {}) | dict(own)
    return found


async def _file_of(database: GatewayDatabase, clock: Clock, session: SessionId) -> AsyncIterator[str]:
    whole = await database.catalog.whole(session)
    if whole is not None:
        async for line in database.session_file(whole, clock.now()):
            yield line


def tape_views(ground: GatewayFoundation, admission: ClientAdmission) -> Sequence[BaseRoute]:
    """The routes of the tape service that show what went on in a session."""
    database, calls = ground.database, RedisModelCalls(ground.connection)
    taken, texts = (stores.records_in(ground.connection, table) for table in (VERSIONS_TABLE, TEXTS_TABLE))
    versions = KeptVersions(taken, texts, ground.clock)  # without the calls of extensions
    return SessionViews(
        *(admission, database.catalog, database.tapes, _moments(database), ground.programs, versions, calls)
    ).routes()


async def serve_bus(settings: Settings, programs: Sequence[Path], host: str, port: int, *, on_ready: Announce) -> None:
    """Serve the bus until cancelled. Raises ConfigError, also where there is no client, and ProgramError."""
    clock, bus, masking = _begun(settings, "bus")
    async with (
        open_storage(settings, on_event=bus.publish) as connection,
        open_archive(settings, on_event=bus.publish) as archive,
        AsyncExitStack() as stack,
        anyio.create_task_group() as tasks,
    ):
        routes, folder = routes_of(settings, programs), stack.enter_context(own_folder(settings, "bus"))
        database, texts = (
            GatewayDatabase(settings, connection, archive),
            load_texts(settings.language, settings.texts_dir),
        )
        foundation = GatewayFoundation(
            *(settings, routes, await compile_routes(settings, routes), connection, database, clock, bus, texts),
            engine=None,
            data_dir=folder,
            debugger=None,
            masking=masking,
        )
        clients = bus_of(foundation, tasks)
        assert clients is not None  # there are clients
        await _serve((settings, bus), "bus", (Mount(BUS, clients.app()), clients.doors), tasks, (host, port), on_ready)


async def serve_tapes(settings: Settings, host: str, port: int, *, on_ready: Announce) -> None:
    """Serve tapes until cancelled. Raises ConfigError, also where there is no client."""
    clock, bus, _ = _begun(settings, "tape service")
    async with (
        open_storage(settings, on_event=bus.publish) as connection,
        open_archive(settings, on_event=bus.publish) as archive,
        anyio.create_task_group() as tasks,
    ):
        (first,) = tapes_of(GatewayDatabase(settings, connection, archive), clock, tasks, lambda _: ())
        await _serve((settings, bus), "tape", (first, ()), tasks, (host, port), on_ready)


def _begun(settings: Settings, what: str) -> tuple[Clock, Bus, SecretMasking]:
    """The clock, the bus with the logs, and what they leave out. Raises ConfigError where there is no client."""
    if not settings.clients:
        raise ConfigError(f"There is no client for the {what} to serve. Add one under [clients.<name>].")
    clock = SystemClock()
    bus, masking = Bus(clock), SecretMasking(secrets(settings))
    LogWriter(settings.logs, masking).attach(bus)
    return clock, bus, masking


async def _serve(
    around: tuple[Settings, Bus],
    role: str,
    doors: tuple[Mount, Sequence[BaseRoute]],
    tasks: TaskGroup,
    place: tuple[str, int],
    on_ready: Announce,
) -> None:
    """Serve these routes; the start prints the first of them."""
    (settings, bus), (host, port), (first, others) = around, place, doors
    app = Starlette(
        routes=[first, *others, *health_routes(lambda: (), None)],
        middleware=[Middleware(RequestGuard, hosts=allowed_hosts(host, settings.web.public_hosts))],
    )
    rules = ServerRules(settings.web.trusted_proxies, bus, role=role)
    listens_at: int = await tasks.start(serve_web, app, host, port, rules)
    url = f"{url_here(host, listens_at)}{first.path}"
    lines = [*listed_under(role, [url]), *listed_under("clients", list(settings.clients))]
    on_ready(GatewayReady(lines, _nothing_to_drain))


async def _nothing_to_drain(_within_s: float | None) -> None:
    """Clients come again, and read on from where they were."""
