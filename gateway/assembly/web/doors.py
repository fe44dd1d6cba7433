"""The routes for other programs: bus, tapes, participants, and the options of the web server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from adapters.web.adapter import WebAdapter
from gateway.access.admission import Access, Owners
from gateway.assembly.foundation import Foundation
from gateway.assembly.parts import plain
from gateway.assembly.stores import feed_in, mailboxes_in
from gateway.assembly.web.console_parts import bus_views, console_of
from gateway.assembly.web.logins import barred_from, log_in_of, owner_asked
from gateway.capabilities import FEATURES
from gateway.clients.admission import Admission
from gateway.clients.agents import Registers
from gateway.clients.bus import PREFIX as BUS
from gateway.clients.bus import ClientBus
from gateway.clients.tasks.ordering import TaskDoor
from gateway.clients.tasks.service import TaskService
from gateway.database import GatewayDatabase
from gateway.dev.door import board_routes
from gateway.feature import ClientGround, TapeGround, WebGround
from gateway.participants.visit import Desk, Office
from gateway.settings.connections.clients import client_scopes, client_tokens
from gateway.web.app import ServiceMount, build_web
from gateway.web.files import FileRoutes
from gateway.web.guard import allowed_hosts
from gateway.web.identity import Identities, persistent_secret
from gateway.web.logins.open_pages import OpenPages
from runtime.core.clock import Clock
from runtime.core.files import FileStore
from runtime.storage.embedded.data_directory import node_id
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisNodeStore
from runtime.storage.redis.records import RedisRecords


def bus_of(foundation: Foundation, tasks: TaskGroup) -> ClientBus | None:
    """The bus for clients, whose feed runs in `tasks`; None if there are none."""
    own, connection, clock = foundation.settings, foundation.connection, foundation.clock
    if not own.is_overseen:
        return None
    feed, inbox = feed_in(connection, clock), foundation.database.inbox
    tasks.start_soon(feed.run)
    admission = Admission(client_tokens(own.clients), client_scopes(own.clients), clock)
    store, catalog = foundation.database.tapes, foundation.database.catalog
    service = TaskService(feed, TaskDoor(foundation.programs, store, inbox, inbox.known, clock, own.tasks.limits))
    ground = ClientGround(
        *(own, connection, node_id(foundation.data_dir), clock, admission, service, feed, foundation.programs, catalog)
    )
    doors = [route for feature in FEATURES for route in feature.doors(ground, tasks)]
    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    registers = Registers(nodes.living, fronts.living, catalog, list(own.participants.tokens))
    return ClientBus(admission, feed, service, registers, clock, doors)


def tapes_of(
    database: GatewayDatabase, clock: Clock, tasks: TaskGroup, views: Callable[[Admission], Sequence[BaseRoute]]
) -> Sequence[Mount]:
    """The tape service for clients, with further routes; nothing if there are none."""
    own = database.settings
    if not own.is_overseen:
        return ()
    admission = Admission(client_tokens(own.clients), client_scopes(own.clients), clock)
    ground = TapeGround(database, admission, clock, views(admission))
    return [mount for feature in FEATURES for mount in feature.tapes(ground, tasks)]


def desk_of(foundation: Foundation) -> Desk | None:
    """The endpoint for participants in other processes; None if there are none."""
    tokens = foundation.settings.participants.known()
    chars = foundation.settings.limits.message_chars
    connection = foundation.connection
    mailboxes = mailboxes_in(foundation.settings, connection)
    office = Office(mailboxes, RedisInbox(connection), foundation.clock, foundation.bus, chars)
    return Desk(tokens, office) if tokens else None


async def chat_of(  # noqa: PLR0913 - the parts of the chat
    web: WebAdapter,
    foundation: Foundation,
    bus: ClientBus | None,
    tapes: Sequence[Mount],
    files: FileStore,
    others: Sequence[BaseRoute],
    owners: Owners,
    access: Access,
) -> Starlette:
    """The application of the web chat, with all that is beside it: also these other routes. `access` is that of the
    chat."""
    own, connection, clock = foundation.settings.web, foundation.connection, foundation.clock
    secret = await RedisRecords(connection, web.name).put_first(
        "secret", persistent_secret(foundation.data_dir / "web-secret")
    )
    pages = OpenPages()
    log_in = log_in_of(foundation, Identities(secret, plain(own.password), clock), pages)
    owner = owner_asked(log_in, owners)
    console = console_of(foundation, owner)
    mounts: list[BaseRoute] = [*board_routes(foundation.debugger, owner), *tapes]
    if bus is not None:
        views = bus_views(foundation, bus.admission)
        mounts += [ServiceMount(BUS, replace(bus, views=views).app()), *bus.doors]
    mounts += [] if console is None else console.routes()
    mounts += FileRoutes(log_in, files, web.shown_files, clock).routes()
    mounts += [] if (desk := desk_of(foundation)) is None else [desk.route]
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
