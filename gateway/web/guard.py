"""The checks on every request: the right host and the right origin; and the headers of every answer. `/healthz`,
`/readyz` and `/metrics`: what monitoring asks of every process, whatever its role.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_METRICS = "/metrics"
_PROBES = frozenset({"/healthz", "/readyz", _METRICS})
"""Paths that are open under any host name, since monitoring may call the process by its address."""

_HOOKS = "/hooks/"
"""Requests below it come from a platform's server. Their signature proves who sends them, not their origin."""

PARTICIPANTS = "/participants/"
"""Connections below it come from programs, whose token proves who they are. A browser cannot send one."""

BUS = "/bus/"
"""Requests below it come from clients, whose token proves who they are. A browser sends none by itself."""

TAPES = "/tape/"
"""Requests below it come from clients and from the processes of tasks, whose tokens prove who they are."""

MCP = "/mcp"
"""Requests there come from clients. The Model Context Protocol wants the origin of each checked, also of one that only
reads."""

_CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify worker",
    )
)
_HEADERS = {
    "content-security-policy": _CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(self), geolocation=()",
}

_BEARER = "bearer"


def content_policy(inlined: str) -> str:
    """The policy of a page in which scripts and styles stand, by their digests."""
    return re.sub(r"(script|style)-src 'self'", rf"\g<0> {inlined}", _CONTENT_POLICY)


_NotReady = Callable[[], Sequence[str]]
"""The reasons why the service is not ready, one line each; empty when it is."""


class Hosts(Struct, frozen=True):
    """Our host names, without port. `addresses`: any address as well, which no foreign page can have."""

    names: frozenset[str]
    addresses: bool = False

    def __contains__(self, host: str | None) -> bool:
        return host in self.names or (self.addresses and host is not None and _is_address(host))


def allowed_hosts(bind_host: str, configured: Iterable[str]) -> Hosts:
    """The configured names and those of this machine; without any, bound to the network, any address as well."""
    names = frozenset(name.lower() for name in configured)
    return Hosts(names | LOOPBACK_HOSTS, addresses=not names and bind_host not in LOOPBACK_HOSTS)


class RequestGuard:
    """ASGI middleware: refuses requests for a wrong host or from a foreign page, and adds the headers."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send if scope["type"] == "websocket" else send_with_headers)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(refusal)
        else:
            await refusal(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if scope["path"] in _PROBES:
            return None
        if _hostname(f"//{host}") not in self._hosts:
            text = f"This chat does not answer to the name {host!r}. Add it to web.public_hosts in parley.toml.\n"
            return PlainTextResponse(text, status_code=421)
        if scope["path"].startswith((_HOOKS, PARTICIPANTS, BUS, TAPES)):
            return None
        if not self._from_here(scope, headers, host):
            text = (
                "This request comes from a foreign page. If it is your own proxy's name, add it to web.public_hosts.\n"
            )
            return PlainTextResponse(text, status_code=403)
        return None

    def _from_here(self, scope: Scope, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        kind: str = scope["type"]
        if origin is None:
            return kind == "http"
        if kind == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] != MCP:
            return True
        try:
            asked = urlsplit(origin)
        except ValueError:
            return False
        if asked.scheme not in ("http", "https"):
            return False
        behind_proxy = _hostname(origin) in self._hosts.names - LOOPBACK_HOSTS
        return asked.netloc == host or behind_proxy


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class MetricsScrape(Struct, frozen=True):
    """Answers requests that carry `token` as `Authorization: Bearer <token>` with `text`, of `content_type`."""

    token: str
    text: Callable[[], Awaitable[bytes]]
    content_type: str

    async def answer(self, request: Request) -> Response:
        """The metrics, or 401."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(token.strip().encode(), self.token.encode())
        if scheme.lower() != _BEARER or not known:
            headers = {"www-authenticate": "Bearer"}
            return PlainTextResponse("The token of [metrics] is required.\n", status_code=401, headers=headers)
        return Response(await self.text(), headers={"content-type": self.content_type, "cache-control": "no-store"})


def health_routes(not_ready: _NotReady, scrape: MetricsScrape | None) -> list[Route]:
    """The routes; without `scrape` there are no metrics."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(_: Request) -> Response:
        reasons = list(not_ready())
        status = {"status": "waiting" if reasons else "ready", "reasons": reasons}
        return JSONResponse(status, status_code=503 if reasons else 200)

    numbers = [] if scrape is None else [Route(_METRICS, scrape.answer)]
    return [Route("/healthz", healthz), Route("/readyz", readyz), *numbers]


def build_health(not_ready: _NotReady, scrape: MetricsScrape | None, bind_host: str, hosts: Sequence[str]) -> Starlette:
    """The application of a process that no person talks with; serve it with gateway.web.server.serve."""
    guard = Middleware(RequestGuard, hosts=allowed_hosts(bind_host, hosts))
    return Starlette(routes=[*health_routes(not_ready, scrape)], middleware=[guard])
