"""The chat's ASGI application: the page, its WebSocket, logging in, and health."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from adapters.adapter import AnswersHttp
from adapters.web.adapter import WebAdapter
from adapters.web.codec import Person
from adapters.web.visit import CLOSE_TRY_AGAIN
from gateway.clients.bus import PREFIX, ClientBus
from gateway.participants.desk import Desk
from gateway.socket_link import SocketLink
from gateway.tapes.service import PREFIX as TAPES
from gateway.tapes.service import TapeService
from gateway.web.assets import Assets
from gateway.web.files import FileRoutes
from gateway.web.guard import PARTICIPANTS, Guard, allowed_hosts
from gateway.web.health import NotReady, health_routes
from gateway.web.hooks import METHODS, Hooks
from gateway.web.identity import Identities
from gateway.web.logins.door import AWAY, LogIn, refused, shown
from gateway.web.logins.open_pages import OpenPages
from gateway.web.logins.password import PasswordLogIn
from gateway.web.names import ReservedNames
from gateway.web.pushes.door import PushDoor
from gateway.web.pushes.subscriptions import Subscriptions
from gateway.web.scrape import Scrape
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.files import FileStore

PAGE = Path(__file__).parent / "page"
CLOSE_WHO_ARE_YOU = 4401
"""The WebSocket's close code for a page without a valid cookie."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")


@dataclass(frozen=True, slots=True)
class WebOptions:
    """`secret` signs cookies; `password`, when given, is asked of everybody once; `hosts` are further names we answer
    to besides those of the loopback interface (bound to the network and none given: any)."""

    secret: str
    password: str | None = None
    bind_host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    participants: Desk | None = None
    """None: no participant connects from another process."""
    scrape: Scrape | None = None
    """None: there are no metrics."""
    bus: ClientBus | None = None
    """None: there are no clients."""
    tapes: TapeService | None = None
    """None: there are no clients."""
    reserved: ReservedNames = field(default_factory=ReservedNames)
    """Names that nobody may take."""
    log_in: LogIn | None = None
    """None: who knows the password, if there is one, chooses a name."""
    pages: OpenPages = field(default_factory=OpenPages)
    """The pages that are open."""
    pushes: Subscriptions | None = None
    """None: nobody is notified."""
    console: Sequence[BaseRoute] = ()
    """The routes of the console, if there is one."""
    beside: Sequence[BaseRoute] = ()
    """The routes of what stands beside the chat, which may take the place of the page."""
    around: Sequence[Middleware] = ()
    """What stands between the checks on every request and the routes."""


class _Service(Mount):
    """A mounted application that answers every path below its own, also one with a line break in it."""

    def __init__(self, path: str, app: ASGIApp) -> None:
        super().__init__(path, app)
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)


class _Door:
    """The routes and the state that they share."""

    def __init__(self, adapter: WebAdapter, log_in: LogIn, options: WebOptions) -> None:
        self._adapter = adapter
        self._log_in = log_in
        self._pages = options.pages
        self._console = bool(options.console)

    async def page(self, _: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})

    async def session(self, request: Request) -> Response:
        """The page's person, and how somebody logs in."""
        try:
            person = await self._log_in.person(request)
            data = {"person": None if person is None else shown(person), **await self._log_in.about(person)}
        except StorageError:
            return refused(AWAY, 503)
        if self._console:
            data["console"] = True
        return JSONResponse(data, headers={"cache-control": "no-store"})

    async def chat(self, socket: WebSocket) -> None:
        """The page's WebSocket; see adapters/web/codec.py for its frames."""
        link = SocketLink(socket)
        try:
            person = await self._log_in.person(socket)
            await socket.accept()
            if person is None:
                await link.close(CLOSE_WHO_ARE_YOU, "choose a name first")
                return
            with self._pages.one(person.id, partial(self._is_still, socket, person)) as open_page:
                if await self._is_still(socket, person):  # not ended between the first look and this one
                    await self._adapter.attend(link, person, language=_language(socket.headers))
                else:
                    open_page.cancel()
            if open_page.cancel_called:
                await link.close(CLOSE_WHO_ARE_YOU, "logged out")
        except StorageError:
            await link.close(CLOSE_TRY_AGAIN, "the store does not answer")

    async def _is_still(self, socket: WebSocket, person: Person) -> bool:
        """Whether the log-in of a WebSocket is still that of its person."""
        now = await self._log_in.person(socket)
        return now is not None and now.id == person.id


def _language(headers: Mapping[str, str]) -> str | None:
    """The browser's preferred language, such as `de` or `pt-BR`."""
    first = headers.get("accept-language", "").partition(",")[0].partition(";")[0].strip()
    return first if _LANGUAGE.fullmatch(first) else None


async def _no_console(_: Request) -> Response:
    return PlainTextResponse(
        "There is no console here, because it has no password. Set PARLEY_CONSOLE__PASSWORD to one of 16 characters or "
        "more, and start Parley again.\n",
        404,
    )


def _file_routes(routes: FileRoutes) -> list[Route]:
    return [Route("/files", routes.post, methods=["POST"]), Route("/files/{id}", routes.get)]


def build_web(
    adapter: WebAdapter,
    not_ready: NotReady,
    options: WebOptions,
    clock: Clock,
    *,
    receivers: Mapping[str, AnswersHttp] | None = None,
    files: FileStore | None = None,
) -> Starlette:
    """The application; serve it with gateway.web.server.serve.

    `receivers` get the requests of their platforms; without `files` none can be posted.
    """
    identities = Identities(options.secret, options.password, clock)
    log_in = options.log_in or PasswordLogIn(identities, options.reserved, clock)
    door = _Door(adapter, log_in, options)
    hooks = Hooks(receivers or {})
    kept = [] if files is None else _file_routes(FileRoutes(log_in, files, adapter.shown_files, clock))
    desk = options.participants
    seats = [] if desk is None else [WebSocketRoute(f"{PARTICIPANTS}{{name}}", desk.answer)]
    bus = [] if options.bus is None else [_Service(PREFIX, options.bus.app()), *options.bus.doors]
    tapes = [] if options.tapes is None else [_Service(TAPES, options.tapes.app())]
    return Starlette(
        routes=[
            *options.beside,
            *bus,
            *tapes,
            *(options.console or [Route("/console", _no_console)]),
            *kept,
            *seats,
            *health_routes(not_ready, options.scrape),
            Route("/", door.page),
            Route("/session", door.session),
            *log_in.routes(),
            *([] if options.pushes is None else PushDoor(log_in, options.pushes, clock).routes()),
            WebSocketRoute("/ws", door.chat),
            Route("/hooks/{platform}", hooks.answer, methods=METHODS),
            Route("/hooks/{platform}/{path:path}", hooks.answer, methods=METHODS),
            Mount("/assets", Assets(directory=PAGE)),
        ],
        middleware=[Middleware(Guard, hosts=allowed_hosts(options.bind_host, options.hosts)), *options.around],
    )
