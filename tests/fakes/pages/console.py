"""The console over a real store: its doors, the bus and the tapes, without a runtime behind them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import anyio
import httpx
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection

from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from gateway.assembly.doors import bus_views, tape_views
from gateway.assembly.foundation import GatewayFoundation, with_shared_views
from gateway.assembly.parts import Engine
from gateway.assembly.stores import feed_in
from gateway.clients.bus import PREFIX as BUS
from gateway.clients.bus import ClientBus
from gateway.clients.journals import TAPES, ClientJournals
from gateway.clients.requests import ClientAdmission
from gateway.clients.scopes import scopes_from
from gateway.clients.tasks.service import TaskDoor, TaskService
from gateway.console.door import ASKS, ConsoleDoor, ConsoleLogins, LoginLinks
from gateway.database import GatewayDatabase
from gateway.features.notebooks.door import TapeService
from gateway.features.notebooks.redis import RedisNotebooks
from gateway.features.notebooks.search.search import NotebookSearch
from gateway.features.notebooks.tapes import NamedTapes
from gateway.inbound.routing import Routes
from gateway.observability.watching import SecretMasking
from gateway.overview.tallies import ServiceTallies
from gateway.settings.tree import Settings
from gateway.web.app import ServiceMount, build_web
from gateway.web.server import serve
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.texts import english
from runtime.events.happening import BusEvent
from runtime.language.program import Program
from runtime.llm.models import ModelRegistry
from runtime.sandbox.monty import MontySandbox
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.orders import TaskLimits
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.web_chat import named_alone

PASSWORDS = {"owner": "the-password-of-owners", "operator": "the-password-of-operators"}


def console_ground(
    connection: RedisConnection, programs: Mapping[str, Program] | None = None, models: ModelRegistry | None = None
) -> GatewayFoundation:
    """What the views stand on. Nothing in it executes programs: of that part there are the models alone."""
    clock, settings = SystemClock(), Settings()
    bus = Bus(clock)
    bare = GatewayFoundation(
        settings,
        Routes(()),
        programs or {},
        connection,
        GatewayDatabase(settings, connection, None),
        clock,
        bus,
        english(),
        None if models is None else Engine(models, "", cast("MontySandbox", None)),
        Path(),
        None,
        SecretMasking(()),
    )
    return with_shared_views(bare, ServiceTallies(bus), "")


@dataclass(frozen=True)
class ConsoleWorld:
    """A running console. `told` is what the process's bus was told."""

    url: str
    ground: GatewayFoundation
    sessions: RedisSessionStore
    leases: RedisLeaseStore
    inbox: RedisInbox
    logins: ConsoleLogins
    told: list[BusEvent]
    links: LoginLinks
    owners: set[str]
    """The ids of those who are owners of the chat."""

    def http(self, **headers: str) -> httpx.AsyncClient:
        """A browser without a screen, with the header of the console's own page."""
        own = {ASKS: "1", **headers}
        return httpx.AsyncClient(base_url=self.url, headers=own, timeout=30, trust_env=False, verify=False)

    @asynccontextmanager
    async def logged_in(self, role: str = "owner") -> AsyncGenerator[httpx.AsyncClient]:
        """A browser that is logged in."""
        async with self.http() as http:
            answer = await http.post("/console/login", json={"password": PASSWORDS[role], "name": "Olga"})
            assert answer.status_code == 200, answer.text
            yield http


@asynccontextmanager
async def console(
    socket: Path,
    *,
    acts: bool = False,
    private: bool = False,
    clients: Mapping[str, Sequence[str]] | None = None,
    programs: Mapping[str, Program] | None = None,
    models: ModelRegistry | None = None,
) -> AsyncGenerator[ConsoleWorld]:
    """Serve until the block ends. `clients` are scopes by name; the token of each is `a-token-of-<name>`."""
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(open_connection(socket, patience_s=20))
        ground = console_ground(connection, programs, models)
        told: list[BusEvent] = []
        ground.bus.subscribe("*", told.append)
        clock, inbox, sessions = ground.clock, RedisInbox(connection), RedisSessionStore(connection)
        catalog, feed = RedisSessionCatalog(connection), feed_in(connection, clock)
        scopes = {name: scopes_from(texts) for name, texts in (clients or {}).items()}
        admission = ClientAdmission({name: f"a-token-of-{name}" for name in scopes}, scopes, clock)
        nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
        bus = ClientBus(
            admission,
            feed,
            TaskService(feed, TaskDoor(ground.programs, sessions, inbox, clock, TaskLimits())),
            *(nodes.living, fronts.living, catalog, []),
            clock,
            views=bus_views(ground, admission),
        )
        notebooks = RedisNotebooks(connection, sessions.news, notebooks=10, entries=100)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        search = NotebookSearch(notebooks, folder / "index")
        stack.callback(search.close)
        tapes = TapeService(
            admission,
            NamedTapes(notebooks, catalog, sessions),
            ClientJournals(catalog, inbox, clock),
            search,
            clock,
            tape_views(ground, admission),
        )
        logins = ConsoleLogins(PASSWORDS, MemoryRecords(), clock)
        owners, log_in = set[str](), named_alone()

        async def owner(request: HTTPConnection) -> WebVisitor | None:
            person = await log_in.person(request)
            return person if person is not None and person.id in owners else None

        links = LoginLinks(MemoryRecords(), clock)
        door = ConsoleDoor(logins, links, owner, clock, ground.bus.publish, acts, private)
        mounts = [ServiceMount(BUS, bus.app()), ServiceMount(TAPES, tapes.app()), *door.routes()]
        chat = WebAdapter(memory_tables(), clock)
        app = build_web(chat, log_in, mounts, around=[Middleware(door.around)])
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(feed.run)
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        world = ConsoleWorld(
            f"http://127.0.0.1:{port}",
            ground,
            sessions,
            RedisLeaseStore(connection),
            inbox,
            logins,
            told,
            links,
            owners,
        )
        yield world
        tasks.cancel_scope.cancel()
