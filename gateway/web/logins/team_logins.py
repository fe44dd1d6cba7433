"""Logging in to a team: by a link that somebody in it made, then by a cookie; or at a proxy in front of the chat, such
as oauth2-proxy or Authelia, which names the person in a header.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from ipaddress import ip_address, ip_network

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.records import ChangedTogether
from adapters.web.codec import WebVisitor
from gateway.access.people import KnownPeople, Role, role_named
from gateway.web.identity import MAX_NAME, ReservedNames, clean_name
from gateway.web.logins import door
from gateway.web.logins.team import LOGIN_LASTS_S, LoginTeam, NotAdmitted, name_field
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.ids import digest_of
from runtime.core.plain_text import whole_number

TEAM_COOKIE = "parley_login"
_MAX_SECRET = 200
"""The longest secret in a request, in code points."""

_HOURS = 3600
_LONGEST_INVITATION_H = 30 * 24

Answer = Callable[["InvitedLogIn", Request, dict[str, str]], Awaitable[Response]]

FROM_PROXY = "parley.from_proxy"
"""The key of a connection's scope which says that a trusted proxy made it."""

_MAX_HEADER = 300


def _answering(answer: Answer) -> Callable[[InvitedLogIn, Request], Awaitable[Response]]:
    """A route that reads a form and says what is wrong in words."""

    @wraps(answer)
    async def route(self: InvitedLogIn, request: Request) -> Response:
        form = await door.small_json(request)
        if form is None or any(len(value) > _MAX_SECRET for value in form.values()):
            return door.refused(door.NOT_READ, 400)
        try:
            return await answer(self, request, form)
        except NotAdmitted as error:
            return door.refused(str(error), 403)
        except StorageError:
            return door.refused(door.AWAY, 503)

    return route


class InvitedLogIn(door.LogIn):
    """The people of a team."""

    def __init__(self, team: LoginTeam, clock: Clock) -> None:
        self._team = team
        self._attempts = door.LoginAttempts(clock)

    async def person(self, connection: HTTPConnection, /) -> WebVisitor | None:
        return await self._team.find(connection.cookies.get(TEAM_COOKIE))

    def device(self, connection: HTTPConnection, /) -> str:
        return digest_of(connection.cookies.get(TEAM_COOKIE, ""))

    async def is_logged_in(self, person_id: str, device: str, /) -> bool:
        found = await self._team.person_of(device)
        return found is not None and found.id == person_id

    async def about(self, person: WebVisitor | None, /) -> Mapping[str, object]:
        owner = person is not None and await self._team.role(person.id) is Role.OWNER
        return {"need_password": False, "login": "invite", "may_invite": owner}

    def routes(self) -> Sequence[Route]:
        ways: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/invitation": self._invitation,
            "/join": self._join,
            "/invite": self._invite,
            "/device": self._device,
            "/login": self._rename,
            "/logout": self._logout,
        }
        return [Route(path, way, methods=["POST"]) for path, way in ways.items()]

    @_answering
    async def _invitation(self, request: Request, form: dict[str, str]) -> Response:
        """What a link offers, {link}: {role, by, person?}."""
        if not self._attempts.may_try(request):
            return door.refused(door.TOO_MANY, 429)
        found = await self._team.invitation(form.get("link", ""))
        whose = {} if found.person is None else {"person": door.shown(found.person)}
        about = {"role": found.role.word, "by": found.invited_by, **whose}
        return JSONResponse(about, headers={"cache-control": "no-store"})

    @_answering
    async def _join(self, request: Request, form: dict[str, str]) -> Response:
        """Follow a link, {link, name, attempt}."""
        if not self._attempts.may_try(request):
            return door.refused(door.TOO_MANY, 429)
        if len(form.get("attempt", "")) < 20:
            return door.refused(door.NOT_READ, 400)
        came = await self._team.join(form.get("link", ""), form.get("name", ""), form["attempt"])
        return door.welcomed(request, came.person, (TEAM_COOKIE, came.secret), LOGIN_LASTS_S)

    @_answering
    async def _invite(self, request: Request, form: dict[str, str]) -> Response:
        """A link for somebody new, by an owner, {role?, hours?}: {link}."""
        person = await self.person(request)
        if person is None or await self._team.role(person.id) is not Role.OWNER:
            return door.refused("Only an owner can invite people.", 403)
        role = role_named(form.get("role", "member"))
        hours = whole_number(form.get("hours", "72"), _LONGEST_INVITATION_H)
        if role in (None, Role.BLOCKED) or not hours:
            return door.refused(door.NOT_READ, 400)
        assert role is not None
        link = await self._team.invite(role, person.name, lasts_s=hours * _HOURS)
        return JSONResponse({"link": link}, headers={"cache-control": "no-store"})

    @_answering
    async def _device(self, request: Request, _: dict[str, str]) -> Response:
        """A link for a further device of one's own: {link}."""
        person = await self.person(request)
        if person is None:
            return door.refused("Log in first.", 401)
        link = await self._team.invite_device(person, person.name)
        return JSONResponse({"link": link}, headers={"cache-control": "no-store"})

    @_answering
    async def _rename(self, request: Request, form: dict[str, str]) -> Response:
        """Take another name, {name}."""
        person = await self.person(request)
        if person is None:
            return door.refused("Follow a link that an owner made for you.", 401)
        renamed = await self._team.rename(person, form.get("name", ""))
        return JSONResponse({"person": door.shown(renamed)}, headers={"cache-control": "no-store"})

    async def _logout(self, request: Request) -> Response:
        """Log this device out; with ?everywhere all devices of the person."""
        login = request.cookies.get(TEAM_COOKIE)
        try:
            person = await self.person(request)
            if login is not None:
                await self._team.log_out(login)
            if person is not None and "everywhere" in request.query_params:
                await self._team.log_out_everywhere(person.id)
        except StorageError:
            return door.refused(door.AWAY, 503)
        return door.parted(TEAM_COOKIE)


class TrustedProxies:
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

    def __init__(self, app: ASGIApp, proxies: TrustedProxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            client = scope.get("client")
            scope[FROM_PROXY] = client is not None and client[0] in self._proxies
        await self._app(scope, receive, send)


class ProxiedLogIn(door.LogIn):
    """The people whom the proxy names.

    A person is what the header says, such as `ada@example.com`; the name is the part before the @. Where that is an
    agent's, or somebody's who came before, it is the whole address, or what fits with a part of the person's id. Who is
    blocked does not come in.
    """

    def __init__(self, header: str, names: ChangedTogether, people: KnownPeople, reserved: ReservedNames) -> None:
        self._header = header.lower()
        self._names = names
        self._people = people
        self._reserved = reserved

    async def person(self, connection: HTTPConnection, /) -> WebVisitor | None:
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
        return WebVisitor(id_, await self._name(id_, who))

    async def is_logged_in(self, person_id: str, _device: str, /) -> bool:
        known = await self._people.find(person_id)
        return known is None or known.role is not Role.BLOCKED

    async def about(self, _: WebVisitor | None, /) -> Mapping[str, object]:
        return {"need_password": False, "login": "proxy"}

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
