"""The chat's ASGI application: the page, its WebSocket, logging in, and health."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from adapters.adapter import AnswersHttp
from adapters.web.adapter import WebAdapter
from adapters.web.allowance import Allowance
from gateway.clients.bus import PREFIX, ClientBus
from gateway.participants.desk import Desk
from gateway.socket_link import SocketLink
from gateway.tapes.service import PREFIX as TAPES
from gateway.tapes.service import TapeService
from gateway.web.assets import Assets
from gateway.web.files import FileRoutes
from gateway.web.forms import ALL_LOGINS, LOGINS, over_tls, small_json, source_of
from gateway.web.guard import PARTICIPANTS, Guard, allowed_hosts
from gateway.web.health import NotReady, health_routes
from gateway.web.hooks import METHODS, Hooks
from gateway.web.identity import COOKIE, COOKIE_LASTS_S, Identities, clean_name
from gateway.web.names import ReservedNames
from gateway.web.scrape import Scrape
from runtime.core.clock import Clock
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
    console: Sequence[BaseRoute] = ()
    """The routes of the console, if there is one."""
    around: Sequence[Middleware] = ()
    """What stands between the checks on every request and the routes."""
    doors: Sequence[BaseRoute] = ()
    """Routes for those who ask this node's models, or execute its tasks."""


class _Service(Mount):
    """A mounted application that answers every path below its own, also one with a line break in it."""

    def __init__(self, path: str, app: ASGIApp) -> None:
        super().__init__(path, app)
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)


class _Door:
    """The routes and the state that they share."""

    def __init__(self, adapter: WebAdapter, options: WebOptions, clock: Clock) -> None:
        self._adapter = adapter
        self.identities = Identities(options.secret, options.password, clock)
        self._logins = Allowance(LOGINS, clock)
        self._all_logins = Allowance(ALL_LOGINS, clock)
        self._reserved = options.reserved
        self._console = bool(options.console)

    async def page(self, _: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})

    async def session(self, request: Request) -> Response:
        """The page's person, and whether a password is needed."""
        person = self.identities.person(request.cookies.get(COOKIE))
        known = None if person is None else {"id": person.id, "name": person.name}
        data: dict[str, object] = {"person": known, "need_password": self.identities.need_password}
        if self._console:
            data["console"] = True
        return JSONResponse(data, headers={"cache-control": "no-store"})

    async def login(self, request: Request) -> Response:
        """Choose a name, {name, password?}; who has a cookie already stays the same person."""
        form = await small_json(request)
        known = self.identities.person(request.cookies.get(COOKIE))
        if form is None:
            return JSONResponse({"error": "The form could not be read."}, status_code=400)
        if known is None:
            if not self._may_try(request):
                return JSONResponse({"error": "Too many attempts. Wait a minute."}, status_code=429)
            if not self.identities.admits(form.get("password", "")):
                return JSONResponse({"error": "That is not the password."}, status_code=403)
        name = clean_name(form.get("name", ""))
        if not name:
            return JSONResponse({"error": "A name needs at least one visible character."}, status_code=422)
        if name in self._reserved and (known is None or known.name != name):
            text = f"{name} is the name of an agent here, or looks like one. Choose another."
            return JSONResponse({"error": text}, status_code=422)
        person = self.identities.newcomer(name) if known is None else type(known)(known.id, name)
        response = JSONResponse({"person": {"id": person.id, "name": person.name}})
        response.set_cookie(
            COOKIE,
            self.identities.cookie(person),
            max_age=COOKIE_LASTS_S,
            httponly=True,
            samesite="lax",
            secure=over_tls(request),
        )
        return response

    async def logout(self, _: Request) -> Response:
        """Forget the person in this browser."""
        response = Response(status_code=204)
        response.delete_cookie(COOKIE)
        return response

    def _may_try(self, request: Request) -> bool:
        """Whether this address may try to log in now, and whether anybody may."""
        mine = self._logins.take(source_of(request))
        return mine and (not self.identities.need_password or self._all_logins.take("all"))

    async def chat(self, socket: WebSocket) -> None:
        """The page's WebSocket; see adapters/web/codec.py for its frames."""
        person = self.identities.person(socket.cookies.get(COOKIE))
        await socket.accept()
        if person is None:
            await socket.close(CLOSE_WHO_ARE_YOU, "choose a name first")
            return
        await self._adapter.attend(SocketLink(socket), person, language=_language(socket.headers))


def _language(headers: Mapping[str, str]) -> str | None:
    """The browser's preferred language, such as `de` or `pt-BR`."""
    first = headers.get("accept-language", "").partition(",")[0].partition(";")[0].strip()
    return first if _LANGUAGE.fullmatch(first) else None


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
    door = _Door(adapter, options, clock)
    hooks = Hooks(receivers or {})
    kept = [] if files is None else _file_routes(FileRoutes(door.identities, files, clock))
    desk = options.participants
    seats = [] if desk is None else [WebSocketRoute(f"{PARTICIPANTS}{{name}}", desk.answer)]
    bus = [] if options.bus is None else [_Service(PREFIX, options.bus.app()), *options.bus.doors]
    tapes = [] if options.tapes is None else [_Service(TAPES, options.tapes.app())]
    return Starlette(
        routes=[
            *bus,
            *options.doors,
            *tapes,
            *options.console,
            *kept,
            *seats,
            *health_routes(not_ready, options.scrape),
            Route("/", door.page),
            Route("/session", door.session),
            Route("/login", door.login, methods=["POST"]),
            Route("/logout", door.logout, methods=["POST"]),
            WebSocketRoute("/ws", door.chat),
            Route("/hooks/{platform}", hooks.answer, methods=METHODS),
            Route("/hooks/{platform}/{path:path}", hooks.answer, methods=METHODS),
            Mount("/assets", Assets(directory=PAGE)),
        ],
        middleware=[Middleware(Guard, hosts=allowed_hosts(options.bind_host, options.hosts)), *options.around],
    )
