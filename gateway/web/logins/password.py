"""Logging in with a name of one's choice, and with the chat's password where it has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.web.codec import Person
from gateway.web.forms import small_json
from gateway.web.identity import COOKIE, COOKIE_LASTS_S, Identities, clean_name
from gateway.web.logins.door import NOT_READ, TOO_MANY, Attempts, parted, refused, welcomed
from gateway.web.names import ReservedNames
from runtime.core.clock import Clock


class PasswordLogIn:
    """Everybody who knows the password; a person is a browser. Implements `LogIn`."""

    def __init__(self, identities: Identities, reserved: ReservedNames, clock: Clock) -> None:
        self._identities = identities
        self._reserved = reserved
        self._attempts = Attempts(clock)

    async def person(self, connection: HTTPConnection, /) -> Person | None:
        return self._identities.person(connection.cookies.get(COOKIE))

    def device(self, _: HTTPConnection, /) -> str:
        return ""

    async def is_logged_in(self, _person_id: str, _device: str, /) -> bool:
        return True

    async def about(self, _: Person | None, /) -> Mapping[str, object]:
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
        person = self._identities.newcomer(name) if known is None else Person(known.id, name)
        return welcomed(request, person, (COOKIE, self._identities.cookie(person)), COOKIE_LASTS_S)

    async def _logout(self, _: Request) -> Response:
        """Forget the person in this browser."""
        return parted(COOKIE)
