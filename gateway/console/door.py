"""The console's own routes: its page, its log-in and log-out, and the cookie that lets the page ask the bus.

Log-ins, and links that let in an owner once, are records that every node reads: ending one takes effect at once.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.records import ChangedTogether, Records, readable, what_can_be_read
from adapters.web.codec import WebVisitor
from gateway.clients.bus import PREFIX as BUS
from gateway.clients.journals import TAPES
from gateway.clients.requests import KNOWN, BusClient
from gateway.clients.scopes import ClientScopes
from gateway.settings.operation import OWNER
from gateway.web.app import ASSETS, files_at, page_at
from gateway.web.app import PAGE as CHAT
from gateway.web.identity import clean_name
from gateway.web.logins.door import NOT_READ, TOO_MANY, LoginAttempts, over_tls, refused, small_json, source_of
from runtime.core.clock import Clock, aware
from runtime.core.errors import StorageError
from runtime.core.fairness import oldest_of_largest
from runtime.core.ids import digest_of
from runtime.events.happening import Tell
from runtime.events.service import ConsoleActed, ConsoleEntered, ConsoleLeft, ConsoleRefused

PAGE = Path(__file__).parent / "page"
CONSOLE = "/console"
_ASSETS = f"{CONSOLE}/assets/"
COOKIE = "parley_console"
ASKS = "x-parley-console"
"""The header of the page's requests that change something. A foreign page cannot send it, whatever cookies go along."""

FROM_CHAT = "chat"
"""The proof of an owner who is logged in to the chat, and to nothing else."""

_READING = ("GET", "HEAD")
_NO_STORE = {"cache-control": "no-store"}
_READS = ClientScopes(events_read=(">",), tapes_read=("sessions.*",), gateway_read=True)
_OWNER = replace(_READS, tasks_read=("*",), tapes_read=("*", "sessions.*"), content=True)
_ACTS = replace(_OWNER, tasks_write=("*",), tapes_write=("*", "sessions.*"), gateway_write=True)

LOGINS_TABLE = "console:logins"
LINKS_TABLE = "console:links"

LASTS_S = 12 * 3600
"""The time after which a log-in ends by itself."""

LINK_LASTS_S = 3600
"""The time in which a link has to be followed."""

MAX_LOGINS = 200
"""The log-ins that are kept; when there is one more, the one that ends first goes, of the role and name with most."""


class Login(Struct, frozen=True):
    """A log-in. `proof` is a digest of the password that it was made with: another password makes it void. `name` is
    what who logged in calls themselves, "" where they gave none."""

    role: str
    proof: str
    until: datetime
    name: str = ""

    def text(self) -> str:
        data = {"role": self.role, "proof": self.proof, "until": self.until.isoformat(), "name": self.name}
        return json.dumps(data, ensure_ascii=False)


class ConsoleLogins:
    """Makes, finds and ends log-ins. `passwords` are those of the roles. Raises StorageUnavailable."""

    def __init__(self, passwords: Mapping[str, str], records: Records, clock: Clock) -> None:
        self._proofs = {OWNER: ""} | {role: digest_of(password) for role, password in passwords.items()}
        self._records = records
        self._clock = clock

    @property
    def has_passwords(self) -> bool:
        return any(self._proofs.values())

    def role_of(self, password: str) -> str | None:
        """The role of a password. It is compared with every role's, whether one is found or not."""
        given, found = digest_of(password), None
        for role, proof in self._proofs.items():
            if hmac.compare_digest(proof, given):
                found = role
        return found

    async def begin(self, role: str, name: str = "") -> str:
        """A new log-in of a role, by somebody of this name; the secret by which it is found."""
        await self._make_room()
        secret = secrets.token_urlsafe(32)
        login = Login(role, self._proofs[role], self._clock.now() + timedelta(seconds=LASTS_S), name)
        await self._records.put(digest_of(secret), login.text())
        return secret

    async def find(self, secret: str | None) -> Login | None:
        """The log-in of this secret; None where there is none, it has ended, or its password is another one now."""
        kept = await self._records.get(digest_of(secret)) if secret else None
        login = readable("log-in", kept, _login)
        return login if login is not None and self._holds(login) else None

    async def end(self, secret: str) -> None:
        await self._records.remove(digest_of(secret))

    async def end_all(self, role: str) -> None:
        kept = await self._records.all()
        known = what_can_be_read(kept, _login)
        for name in kept:
            if name not in known or known[name].role == role:
                await self._records.remove(name)

    def _holds(self, login: Login) -> bool:
        current = self._proofs.get(login.role)
        return (
            current is not None
            and hmac.compare_digest(current.encode(), login.proof.encode())
            and self._clock.now() < login.until
        )

    async def _make_room(self) -> None:
        kept: list[tuple[datetime, str, str]] = []
        texts = await self._records.all()
        known = what_can_be_read(texts, _login)
        for name in texts:
            login = known.get(name)
            if login is None or not self._holds(login):
                await self._records.remove(name)
            else:
                kept.append((login.until, name, f"{login.role} {login.name}"))
        kept.sort()
        while len(kept) >= MAX_LOGINS:
            _, name, _ = kept.pop(oldest_of_largest([whose for _, _, whose in kept]))
            await self._records.remove(name)


class LoginLinks(Struct, frozen=True):
    """Links for an owner, each to be followed once. Raises StorageUnavailable."""

    _records: ChangedTogether
    _clock: Clock

    async def new(self) -> str:
        for name, kept in (await self._records.all()).items():
            if not self._is_open(kept):
                await self._records.remove(name)
        secret = secrets.token_urlsafe(24)
        await self._records.put(digest_of(secret), (self._clock.now() + timedelta(seconds=LINK_LASTS_S)).isoformat())
        return secret

    async def follow(self, secret: str) -> bool:
        """Whether this is the secret of a link that nobody has followed. Nobody can follow it from now on."""
        name, used = digest_of(secret), f"{_USED}{secrets.token_urlsafe(8)}"  # of two at once, one finds the other's
        kept = await self._records.get(name)
        return self._is_open(kept) and await self._records.change({name: (kept, used)})

    def _is_open(self, kept: str | None) -> bool:
        until = None if kept is None or kept.startswith(_USED) else readable("link", kept, aware)
        return until is not None and self._clock.now() < until


_USED = "used "


def _login(text: str) -> Login:
    data = json.loads(text)
    return Login(str(data["role"]), str(data["proof"]), aware(data["until"]), str(data.get("name", "")))


def client_of(login: Login, *, acts: bool, private: bool) -> BusClient:
    if login.role != OWNER:
        return BusClient(f"console.{login.role}", _READS, shown=login.name)
    scopes = replace(_ACTS if acts else _OWNER, private=private)
    return BusClient(f"console.{OWNER}", scopes, shown=login.name or OWNER)


_NO_PASSWORD = "That is not a password of the console."
_NO_LINK = "This link is not known, or it was used, or an hour has passed. Start Parley again for a new one."


class ConsoleDoor(Struct, frozen=True):
    """The parts that the routes share. `owner` finds the owner of the chat that a request comes from. `acts`: whether
    owners may change something; `private`: and read what is said in private and direct rooms. `tell` hears who comes
    and goes."""

    logins: ConsoleLogins
    links: LoginLinks
    owner: Callable[[HTTPConnection], Awaitable[WebVisitor | None]]
    clock: Clock
    tell: Tell
    acts: bool = False
    private: bool = False

    def routes(self) -> Sequence[BaseRoute]:
        return [
            page_at(CONSOLE, {ASSETS: CHAT, _ASSETS: PAGE}),
            Route(f"{CONSOLE}/session", self.session),
            Route(f"{CONSOLE}/login", partial(self.login, LoginAttempts(self.clock)), methods=["POST"]),
            Route(f"{CONSOLE}/logout", self.logout, methods=["POST"]),
            files_at(_ASSETS, PAGE),
        ]

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application, for which who is logged in is a client of the bus and the tapes: their requests are the
        console's where they have no token, and come from who is logged in or from the console's page. Others are
        admitted by the bus and the tapes themselves."""

        async def recognising(scope: Scope, receive: Receive, send: Send) -> None:
            answer: ASGIApp | None = None
            if scope["type"] == "http" and scope["path"].startswith((f"{BUS}/", f"{TAPES}/")):
                connection = HTTPConnection(scope)
                if "authorization" not in connection.headers:
                    found = await self._recognise(connection)
                    answer = (
                        partial(self._while_logged_in, app, connection, found) if isinstance(found, Login) else found
                    )
            await (answer or app)(scope, receive, send)

        return recognising

    async def found(self, connection: HTTPConnection) -> Login | None:
        """The log-in of a request: the console's own, else that of an owner of the chat. Raises StorageError."""
        login = await self.logins.find(connection.cookies.get(COOKIE))
        if login is None and (person := await self.owner(connection)) is not None:
            return Login(OWNER, FROM_CHAT, self.clock.now() + timedelta(seconds=LASTS_S), person.name)
        return login

    async def session(self, request: Request) -> Response:
        """The role of who is logged in, null for nobody, and what it may."""
        login = await self.found(request)
        if login is None:
            return _answer({"role": None} | ({} if self.logins.has_passwords else {"no_password": True}))
        scopes = client_of(login, acts=self.acts, private=self.private).scopes
        until = login.until.isoformat()
        may = {"words": scopes.content, "acts": scopes.gateway_write, "private": scopes.private}
        chat = login.proof == FROM_CHAT
        return _answer({"role": login.role, "name": login.name, "until": until, "from_chat": chat, **may})

    async def login(self, attempts: LoginAttempts, request: Request) -> Response:
        """Log in with {password} or, once, {link}; {name} stands beside what is done."""
        form = await small_json(request)
        if form is None:
            return refused(NOT_READ, 400)
        if not attempts.may_try(request):
            return refused(TOO_MANY, 429)
        source, link = source_of(request), form.get("link")
        role = self.logins.role_of(form.get("password", ""))
        if link is not None:
            role = OWNER if await self.links.follow(link) else None
        if role is None:
            self.tell(ConsoleRefused(source))
            return refused(_NO_PASSWORD if link is None else _NO_LINK, 403)
        response = _answer({"role": role})
        name = clean_name(form.get("name", ""))
        secret = await self.logins.begin(role, name)
        secure = over_tls(request)
        response.set_cookie(COOKIE, secret, max_age=LASTS_S, httponly=True, samesite="strict", secure=secure)
        self.tell(ConsoleEntered(role, source, name))
        return response

    async def logout(self, request: Request) -> Response:
        """Log out, here or with {"everywhere": "yes"} in every browser of this role."""
        form, login = await small_json(request), await self.found(request)
        secret = request.cookies.get(COOKIE)
        if login is not None and secret is not None:
            if form is not None and form.get("everywhere") == "yes":
                await self.logins.end_all(login.role)
            await self.logins.end(secret)
            self.tell(ConsoleLeft(login.role))
        response = _answer({"role": None})
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    async def _while_logged_in(
        self, app: ASGIApp, connection: HTTPConnection, login: Login, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer, but end a stream as soon as the log-in has ended: nothing is sent after that. What is changed is
        told."""
        begun = False
        with anyio.CancelScope() as answering:

            async def checked(message: Message) -> None:
                nonlocal begun
                if begun and message["type"] == "http.response.body" and await self.found(connection) is None:
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    answering.cancel()
                    await anyio.lowlevel.checkpoint()
                begun = begun or message["type"] == "http.response.body"
                changes = message["type"] == "http.response.start" and scope["method"] not in _READING
                if changes and message["status"] < 400:
                    self.tell(ConsoleActed(login.role, scope["method"], scope["path"], login.name))
                await send(message)

            await app(scope, receive, checked)

    async def _recognise(self, connection: HTTPConnection) -> Response | Login | None:
        """Who is logged in, or why the console refuses; None for a request that is not the console's."""
        try:
            login = await self.found(connection)
        except StorageError:
            return refused("The store does not answer. Try again in a moment.", 503)
        if login is None:
            own = COOKIE in connection.cookies or ASKS in connection.headers
            return refused("Log in to the console.", 401) if own else None
        if connection.scope["method"] not in _READING and ASKS not in connection.headers:
            return refused(f"The console's requests carry the header {ASKS}.", 403)
        connection.scope[KNOWN] = client_of(login, acts=self.acts, private=self.private)
        return login


def _answer(data: dict[str, object]) -> Response:
    return JSONResponse(data, headers=_NO_STORE)
