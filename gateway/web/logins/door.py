"""The port of all log-ins: who a request comes from, and the routes by which people come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from adapters.capabilities import Budget
from adapters.web.allowance import Allowance
from adapters.web.codec import Person
from gateway.web.forms import ALL_LOGINS, LOGINS, over_tls, source_of
from runtime.core.clock import Clock

TOO_MANY = "Too many attempts. Wait a minute."
NOT_READ = "The form could not be read."
AWAY = "The chat's store does not answer. Try again in a moment."


class LogIn(Protocol):
    """One way to log in."""

    async def person(self, connection: HTTPConnection, /) -> Person | None:
        """Who a request or a WebSocket comes from; None for a stranger. Raises StorageUnavailable."""
        ...

    def device(self, connection: HTTPConnection, /) -> str:
        """What the log-in of a request is known by, which is no secret; empty where people have no log-ins here."""
        ...

    async def is_logged_in(self, person_id: str, device: str, /) -> bool:
        """Whether a person is logged in still by this log-in. Raises StorageUnavailable."""
        ...

    async def about(self, person: Person | None, /) -> Mapping[str, object]:
        """What the page needs to know to log this person in. Raises StorageUnavailable."""
        ...

    def routes(self) -> Sequence[Route]:
        """Where people come and go."""
        ...


class Attempts:
    """The limits on attempts to come in."""

    def __init__(self, clock: Clock, all_together: Budget = ALL_LOGINS) -> None:
        self._one = Allowance(LOGINS, clock)
        self._all = Allowance(all_together, clock)

    def may_try(self, request: Request, *, together: bool = True) -> bool:
        """Whether this address may try now; `together`: and whether anybody may."""
        mine = self._one.take(source_of(request))
        return mine and (not together or self._all.take("all"))


def shown(person: Person) -> dict[str, str]:
    """A person, as pages read them."""
    return {"id": person.id, "name": person.name}


def refused(text: str, status: int) -> Response:
    """An answer that says why something is not done."""
    return JSONResponse({"error": text}, status_code=status, headers={"cache-control": "no-store"})


def welcomed(request: Request, person: Person, cookie: tuple[str, str], lasts_s: int) -> Response:
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
