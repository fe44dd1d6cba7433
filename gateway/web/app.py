"""The chat's ASGI application: the page, its WebSocket, logging in, and health. And pages for browsers: what people see
first comes with the page itself, and a browser asks for each file once.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from html import escape
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from adapters.web.visit import CLOSE_TRY_AGAIN
from gateway.socket_protocol import SocketLink
from gateway.web.guard import Hosts, RequestGuard, allowed_hosts, content_policy
from gateway.web.logins.door import AWAY, LogIn, OpenPages, refused, shown
from runtime.core.errors import StorageError

PAGE = Path(__file__).parent / "page"
ASSETS = "/assets/"
"""The address of the chat's files, which other pages use, too."""

_COMPRESSED = [Middleware(GZipMiddleware, compresslevel=6)]
_FOR_GOOD = "public, max-age=31536000, immutable"
_SEEN_FIRST = re.compile(r'<(?:link rel="(style)sheet" href|(script) src)="([^"]+)">(?:</script>)?')
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


@cache
def _version(folder: Path) -> tuple[str, float]:
    """The part of an address that changes with any file of the folder, and when the last of them was written."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    texts = (file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return f"v-{sha256(b''.join(texts)).hexdigest()[:16]}", max(file.stat().st_mtime for file in files)


class WebAssets(StaticFiles):
    """Files that a browser keeps where their address has their version, unless an upgrade has written them meanwhile.
    Others it checks each time, so that it never mixes two versions of a page.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        version, _, rest = path.partition("/")
        response = await super().get_response(rest if version.startswith("v-") else path, scope)
        now, written_at = _version(Path(str(self.directory)))
        file = response.stat_result if isinstance(response, FileResponse) else None
        kept = version == now and file is not None and file.st_mtime <= written_at
        response.headers["cache-control"] = _FOR_GOOD if kept else "no-cache"
        return response


def files_at(path: str, folder: Path) -> Mount:
    """The files of a folder below a path."""
    return Mount(path.rstrip("/"), WebAssets(directory=folder), middleware=_COMPRESSED)


def page_at(path: str, folders: dict[str, Path], head: str = "") -> Route:
    """The index.html of the last folder, with `head` in its head. `folders` are those of its files, by address."""

    async def page(request: Request) -> Response:
        text, policy = _page(tuple(folders.items()), head)
        tag = f'"{sha256(text.encode()).hexdigest()[:16]}"'
        headers = {"cache-control": "no-cache", "content-security-policy": policy, "etag": tag}
        unchanged = request.headers.get("if-none-match", "").removeprefix("W/") == tag
        return Response(status_code=304, headers=headers) if unchanged else HTMLResponse(text, headers=headers)

    return Route(path, page, middleware=_COMPRESSED)


def told(scope: Scope, title: str, text: str) -> Response:
    """An answer where nothing is, as a page for a browser, else as text."""
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return PlainTextResponse(f"{title}. {text}\n", 404)
    page, policy = _page(((ASSETS, PAGE),), "", "told.html")
    page = page.replace("{title}", escape(title)).replace("{text}", escape(text))
    return HTMLResponse(page, 404, headers={"content-security-policy": policy})


@cache
def _page(folders: tuple[tuple[str, Path], ...], head: str, name: str = "index.html") -> tuple[str, str]:
    """A page whose styles, and scripts that nothing else is drawn before, stand in it; and its content policy."""
    inlined: list[str] = []

    def with_text(kind: str, text: str) -> str:
        inlined.append(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")
        return f"{kind}>{text}</{kind.partition(' ')[0]}>"

    def in_place(found: re.Match[str]) -> str:
        style, script, address = found.groups()
        at, folder = max((each for each in folders if address.startswith(each[0])), key=lambda each: len(each[0]))
        return "<" + with_text(style or script, (folder / address.removeprefix(at)).read_text(encoding="utf-8"))

    text = _SEEN_FIRST.sub(in_place, (folders[-1][1] / name).read_text(encoding="utf-8"))
    addresses = {at: f"{at}{_version(folder)[0]}/" for at, folder in folders}
    for at, kept in addresses.items():
        text = text.replace(f'"{at}', f'"{kept}')
    same = {kept: kept for kept in addresses.values()}
    imports = "<" + with_text('script type="importmap"', json.dumps({"imports": addresses | same}))
    text = text.replace("<head>", f"<head>\n{imports}", 1).replace("</head>", f"{head}</head>", 1)
    return text, content_policy(" ".join(inlined))


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
            called = None if person is None else shown(await self._adapter.known_as(person))
            data = {"person": called, **await self._log_in.about(person)}
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
