"""The checks on every request: the right host and the right origin; and the headers of every answer.

The host check is against DNS rebinding: a foreign page whose name resolves to 127.0.0.1 reaches us, but names itself
in `Host`. The origin check is against foreign pages that open our WebSocket or post our forms with the person's cookie.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
METRICS = "/metrics"
PROBES = frozenset({"/healthz", "/readyz", METRICS})
"""Paths that are open under any host name, since monitoring may call the process by its address."""

HOOKS = "/hooks/"
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
HEADERS = {
    "content-security-policy": _CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(self), geolocation=()",
}


@dataclass(frozen=True, slots=True)
class Hosts:
    """Our host names, without port. `addresses`: any address as well, which no foreign page can have."""

    names: frozenset[str]
    addresses: bool = False

    def __contains__(self, host: str | None) -> bool:
        return host in self.names or (self.addresses and host is not None and _is_address(host))


def allowed_hosts(bind_host: str, configured: Iterable[str]) -> Hosts:
    """The configured names and those of this machine; without any, bound to the network, any address as well."""
    names = frozenset(name.lower() for name in configured)
    return Hosts(names | LOOPBACK_HOSTS, addresses=not names and bind_host not in LOOPBACK_HOSTS)


class Guard:
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
                for name, value in HEADERS.items():
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
        if scope["path"] in PROBES:
            return None
        if _hostname(f"//{host}") not in self._hosts:
            text = f"This chat does not answer to the name {host!r}. Add it to web.public_hosts in parley.toml.\n"
            return PlainTextResponse(text, status_code=421)
        if scope["path"].startswith((HOOKS, PARTICIPANTS, BUS, TAPES)):
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
