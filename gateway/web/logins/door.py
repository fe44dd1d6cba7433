"""The port of all log-ins: who a request comes from, and the routes by which people come and go; the pages that are
open, which close at once when their person is not admitted any more; and the log-in by a name, and by the chat's
password where it has one. And what every page with a log-in shares: small forms, bounded by origin and by number.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from typing import Protocol

import anyio
from msgspec import Struct, field
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web.codec import WebVisitor
from gateway.web.identity import COOKIE, COOKIE_LASTS_S, ReservedNames, WebIdentities, clean_name
from runtime.core.clock import Clock
from runtime.core.json_text import read_json

TOO_MANY = "Too many attempts. Wait a minute."
NOT_READ = "The form could not be read."
AWAY = "The chat's store does not answer. Try again in a moment."

_Admitted = Callable[[], Awaitable[bool]]
"""Whether the person of a page may still look at it."""
_MAX_FORM_BYTES = 4_096

LOGINS = Budget(rate_per_s=0.2, burst=10)
"""Attempts to log in from one address, or from one IPv6 network of 64 bits, since a host has all of it."""

ALL_LOGINS = Budget(rate_per_s=1.0, burst=100)
"""Attempts to log in from all addresses together, where a password is asked for."""


class LogIn(Protocol):
    """One way to log in."""

    async def person(self, connection: HTTPConnection, /) -> WebVisitor | None:
        """Who a request or a WebSocket comes from; None for a stranger. Raises StorageUnavailable."""

    def device(self, connection: HTTPConnection, /) -> str:
        """What the log-in of a request is known by, which is no secret; empty where people have no log-ins here."""
        return ""

    async def is_logged_in(self, person_id: str, device: str, /) -> bool:
        """Whether a person is logged in still by this log-in. Raises StorageUnavailable."""

    async def about(self, person: WebVisitor | None, /) -> Mapping[str, object]:
        """What the page needs to know to log this person in. Raises StorageUnavailable."""

    def routes(self) -> Sequence[Route]:
        """Where people come and go."""
        return ()


class LoginAttempts:
    def __init__(self, clock: Clock) -> None:
        self._one = KeyedBudgets(LOGINS, clock)
        self._all = KeyedBudgets(ALL_LOGINS, clock)

    def may_try(self, request: Request, *, together: bool = True) -> bool:
        """Whether this address may try now; `together`: and whether anybody may."""
        mine = self._one.take(source_of(request))
        return mine and (not together or self._all.take("all"))


def shown(person: WebVisitor) -> dict[str, str]:
    return {"id": person.id, "name": person.name}


def refused(text: str, status: int) -> Response:
    """An answer that says why something is not done."""
    return JSONResponse({"error": text}, status_code=status, headers={"cache-control": "no-store"})


def welcomed(request: Request, person: WebVisitor, cookie: tuple[str, str], lasts_s: int) -> Response:
    """An answer that names the person, and sets this cookie."""
    response = JSONResponse({"person": shown(person)}, headers={"cache-control": "no-store"})
    name, value = cookie
    tls = over_tls(request)
    response.set_cookie(name, value, max_age=lasts_s, httponly=True, samesite="lax", secure=tls)
    return response


def parted(cookie: str) -> Response:
    """An answer that ends a log-in in a browser, which forgets this cookie and the files that it has kept."""
    response = Response(status_code=204, headers={"clear-site-data": '"cache"'})
    response.delete_cookie(cookie)
    return response


class _Page(Struct, eq=False):
    person: str
    admitted: _Admitted
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class OpenPages:
    def __init__(self) -> None:
        self._pages: dict[str, dict[_Page, None]] = {}

    @contextmanager
    def one(self, person: str, admitted: _Admitted) -> Iterator[anyio.CancelScope]:
        """A page is open within the block, which is cancelled when its person is not admitted any more."""
        page = _Page(person, admitted)
        self._pages.setdefault(person, {})[page] = None
        try:
            with page.scope:
                yield page.scope
        finally:
            del self._pages[person][page]
            if not self._pages[person]:
                del self._pages[person]

    async def check(self, person: str) -> None:
        """Close the pages of a person that are not admitted any more."""
        for page in list(self._pages.get(person, ())):
            if not await page.admitted():
                page.scope.cancel()

    async def check_all(self) -> None:
        """Close all pages that are not admitted any more: news may have been missed."""
        for person in list(self._pages):
            await self.check(person)


class PasswordLogIn(LogIn):
    """Everybody who knows the password; a person is a browser."""

    def __init__(self, identities: WebIdentities, reserved: ReservedNames, clock: Clock) -> None:
        self._identities = identities
        self._reserved = reserved
        self._attempts = LoginAttempts(clock)

    async def person(self, connection: HTTPConnection, /) -> WebVisitor | None:
        return self._identities.person(connection.cookies.get(COOKIE))

    async def is_logged_in(self, _person_id: str, _device: str, /) -> bool:
        return True

    async def about(self, _: WebVisitor | None, /) -> Mapping[str, object]:
        return {"need_password": self._identities.need_password}

    def routes(self) -> Sequence[Route]:
        return [Route("/login", self._login, methods=["POST"]), Route("/logout", self._logout, methods=["POST"])]

    async def _login(self, request: Request) -> Response:
        """Choose a name, {name, password?}; who has a cookie already stays the same person."""
        form = await small_json(request)
        known = await self.person(request)
        if form is None:
            return refused(NOT_READ, 400)
        if known is None:
            if not self._attempts.may_try(request, together=self._identities.need_password):
                return refused(TOO_MANY, 429)
            if not self._identities.admits(form.get("password", "")):
                return refused("That is not the password.", 403)
        name = clean_name(form.get("name", ""))
        if not name:
            return refused("A name needs at least one visible character.", 422)
        if name in self._reserved and (known is None or known.name != name):
            return refused(f"{name} is the name of an agent here, or looks like one. Choose another.", 422)
        person = self._identities.newcomer(name) if known is None else WebVisitor(known.id, name)
        return welcomed(request, person, (COOKIE, self._identities.cookie(person)), COOKIE_LASTS_S)

    async def _logout(self, _: Request) -> Response:
        """Forget the person in this browser."""
        return parted(COOKIE)


def source_of(request: Request) -> str:
    """The address that a request comes from, of IPv6 its network."""
    address = request.client.host if request.client else ""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((ip, 64), strict=False)) if ip.version == 6 else address


def over_tls(request: Request) -> bool:
    """Whether the browser uses TLS, to the gateway or to a proxy. Where no proxy is trusted, the page's origin
    decides.
    """
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


async def small_json(request: Request) -> dict[str, str] | None:
    """A JSON object of strings from the body; None when it is too big or anything else."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM_BYTES:
            return None
    try:
        data = read_json(body)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    return {key: value for key, value in data.items() if isinstance(value, str)}
