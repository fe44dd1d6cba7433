"""Logging in at a proxy in front of the chat, such as oauth2-proxy or Authelia, which names the person in a header."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network

from starlette.requests import HTTPConnection
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.records import ChangedTogether
from adapters.web.codec import Person
from gateway.access.people import People, Role
from gateway.web.identity import MAX_NAME, clean_name
from gateway.web.logins.team import name_field
from gateway.web.names import ReservedNames

FROM_PROXY = "parley.from_proxy"
"""The key of a connection's scope which says that a trusted proxy made it."""

_MAX_HEADER = 300


class Proxies:
    """Trusted proxies: addresses and networks."""

    def __init__(self, proxies: Sequence[str]) -> None:
        self._networks = [ip_network(proxy) for proxy in proxies]

    def __contains__(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._networks)


class MarkProxied:
    """ASGI middleware: marks what trusted proxies send. Has to stand before whatever rewrites the peer's address."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            client = scope.get("client")
            scope[FROM_PROXY] = client is not None and client[0] in self._proxies
        await self._app(scope, receive, send)


class ProxiedLogIn:
    """The people whom the proxy names. Implements `LogIn`.

    A person is what the header says, such as `ada@example.com`; the name is the part before the @. Where that is an
    agent's, or somebody's who came before, it is the whole address, or what fits with a part of the person's id. Who is
    blocked does not come in.
    """

    def __init__(self, header: str, names: ChangedTogether, people: People, reserved: ReservedNames) -> None:
        self._header = header.lower()
        self._names = names
        self._people = people
        self._reserved = reserved

    async def person(self, connection: HTTPConnection, /) -> Person | None:
        named = connection.headers.getlist(self._header)
        if not connection.scope.get(FROM_PROXY) or len(named) != 1:
            return None
        who = named[0].strip()
        if not clean_name(who) or len(who) > _MAX_HEADER:
            return None
        digest = hashlib.sha256(f"{self._header}\n{who}".encode()).digest()
        id_ = f"web:{urlsafe_b64encode(digest[:12]).decode()}"
        if not await self.is_logged_in(id_, ""):
            return None
        return Person(id_, await self._name(id_, who))

    def device(self, _: HTTPConnection, /) -> str:
        return ""

    async def is_logged_in(self, person_id: str, _device: str, /) -> bool:
        known = await self._people.find(person_id)
        return known is None or known.role is not Role.BLOCKED

    async def about(self, _: Person | None, /) -> Mapping[str, object]:
        return {"need_password": False, "login": "proxy"}

    def routes(self) -> Sequence[Route]:
        return []

    async def _name(self, person_id: str, who: str) -> str:
        short = clean_name(who.partition("@")[0])
        if not short or short in self._reserved:
            return _told_apart(who, person_id)
        field = name_field(short)
        whose = await self._names.get(field)
        if whose is None and await self._names.change({field: (None, person_id)}):
            return short
        return short if (whose or await self._names.get(field)) == person_id else _told_apart(who, person_id)


def _told_apart(who: str, person_id: str) -> str:
    """A name that is nobody else's."""
    if "@" in who and clean_name(who) == who:
        return who
    sign = person_id[-4:]
    return f"{clean_name(who)[: MAX_NAME - len(sign) - 1]} {sign}"
