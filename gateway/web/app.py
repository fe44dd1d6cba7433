"""The chat's ASGI application: the page, its WebSocket, logging in, and health."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from adapters.web.visit import CLOSE_TRY_AGAIN
from gateway.socket_protocol import SocketLink
from gateway.web.guard import Hosts, RequestGuard, allowed_hosts
from gateway.web.logins.door import AWAY, LogIn, OpenPages, refused, shown
from gateway.web.pages import ASSETS, PAGE, files_at, page_at, told
from runtime.core.errors import StorageError

CONSOLE = "/console"
CLOSE_WHO_ARE_YOU = 4401
"""The WebSocket's close code for a page without a valid cookie."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")


_ELSEWHERE = (
    "A Parley chat runs here, but this address leads nowhere. Do you run this chat? Platforms, services and the "
    "console have addresses only if the settings turn them on."
)

Barred = Callable[[WebVisitor], Awaitable[Sequence[str]]]
"""The commands that somebody may not give. Raises StorageUnavailable."""


async def _nothing_barred(_: WebVisitor) -> Sequence[str]:
    return ()


class ServiceMount(Mount):
    """A mounted application that answers every path below its own, also one with a line break in it."""

    def __init__(self, path: str, app: ASGIApp) -> None:
        super().__init__(path, app)
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)


class _Door:
    def __init__(self, adapter: WebAdapter, log_in: LogIn, pages: OpenPages, barred: Barred, *, console: bool) -> None:
        self._adapter = adapter
        self._log_in = log_in
        self._pages = pages
        self._barred = barred
        self._console = console

    async def session(self, request: Request) -> Response:
        """The page's person with the commands that they may not give, and how somebody logs in."""
        try:
            person = await self._log_in.person(request)
            data = {"person": None if person is None else shown(person), **await self._log_in.about(person)}
            if person is not None:
                data["barred"] = list(await self._barred(person))
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

    async def _is_still(self, socket: WebSocket, person: WebVisitor) -> bool:
        """Whether the log-in of a WebSocket is still that of its person."""
        now = await self._log_in.person(socket)
        return now is not None and now.id == person.id


def _language(headers: Mapping[str, str]) -> str | None:
    """The browser's preferred language, such as `de` or `pt-BR`."""
    first = headers.get("accept-language", "").partition(",")[0].partition(";")[0].strip()
    return first if _LANGUAGE.fullmatch(first) else None


async def _no_console(request: Request) -> Response:
    return told(
        request.scope,
        "There is no console here",
        "It has no password. Without one there is a console only where the chat asks for no log-in and is for this "
        "machine alone. Do you run this chat? Set PARLEY_CONSOLE__PASSWORD to one of 16 characters or more, and start "
        "Parley again.",
    )


def build_web(  # noqa: PLR0913 - the parts of the application
    adapter: WebAdapter,
    log_in: LogIn,
    mounts: Sequence[BaseRoute] = (),
    *,
    around: Sequence[Middleware] = (),
    hosts: Hosts | None = None,
    pages: OpenPages | None = None,
    barred: Barred = _nothing_barred,
) -> Starlette:
    """The application; serve it with gateway.web.server.serve. `barred` knows what somebody may not do.

    `mounts` are all routes besides those of the chat, in whose place they are if they have the same path. `around`
    stands between the checks on every request and the routes. `hosts` are the names to which we answer; without them
    those of this machine. `pages` are those that are open.
    """
    console = any(isinstance(route, Route) and route.path == CONSOLE for route in mounts)
    door = _Door(adapter, log_in, pages or OpenPages(), barred, console=console)
    app = Starlette(
        routes=[
            *mounts,
            *([] if console else [Route(CONSOLE, _no_console)]),
            page_at("/", {ASSETS: PAGE}),
            Route("/session", door.session),
            *log_in.routes(),
            WebSocketRoute("/ws", door.chat),
            files_at(ASSETS, PAGE),
        ],
        middleware=[Middleware(RequestGuard, hosts=hosts or allowed_hosts("127.0.0.1", ())), *around],
    )
    usual = app.router.default

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        answer = told(scope, "There is nothing here", _ELSEWHERE) if scope["type"] == "http" else usual
        await answer(scope, receive, send)

    app.router.default = nothing
    return app
