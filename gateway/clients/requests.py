"""Requests of clients: who asks, by the token in the header, and reading what is sent, with bounds. Every refusal is
one sentence of JSON.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from gateway.clients.scopes import CONSOLE, ClientScopes
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.json_text import read_json, write_json
from runtime.core.plain_text import whole_number

MAX_BODY_BYTES = 1024 * 1024
MAX_WAIT_S = 60.0

_NO_STORE = {"cache-control": "no-store"}
STREAM_HEADERS = {**_NO_STORE, "x-accel-buffering": "no"}
"""The headers of an answer that comes in pieces: nothing in between may keep them back, as nginx does unless told."""

MOST = 200
"""The most of one answer."""

Item = TypeVar("Item")

ATTEMPTS = Budget(rate_per_s=0.2, burst=20)
"""The number of refused requests from one address after which all of its unknown tokens are refused for a while."""

_READ_ONLY = (
    "You can only look here: owners change something at the console where the settings have console.acts = true."
)

KNOWN = "parley.client"
"""Where a request has the client that was recognised before it came here, by something else than a token."""


@dataclass(frozen=True, slots=True)
class BusClient:
    """A client that has proved who it is. `shown` is who acts by it, as people are told; "" for the client itself."""

    name: str
    scopes: ClientScopes
    shown: str = field(default="", kw_only=True)

    @property
    def source(self) -> str:
        return f"/clients/{self.name}"


class ClientAdmission:
    def __init__(self, tokens: Mapping[str, str], scopes: Mapping[str, ClientScopes], clock: Clock) -> None:
        self._known = [(_digest(token), BusClient(name, scopes[name])) for name, token in tokens.items()]
        self._attempts = KeyedBudgets(ATTEMPTS, clock)

    @property
    def clients(self) -> list[BusClient]:
        return [client for _, client in self._known]

    def client(self, request: HTTPConnection) -> BusClient:
        """The client that asks, as it is known already, or by its token. Every token is compared with every client's,
        whether one is found or not.

        Raises HTTPException: 401 for an unknown token, 429 for too many of those from one address.
        """
        known_already = request.scope.get(KNOWN)
        if isinstance(known_already, BusClient):
            return known_already
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        digest, found = _digest(token.strip()), None
        for known, client in self._known:
            if hmac.compare_digest(known, digest):
                found = client
        if found is not None and scheme.lower() == "bearer":
            return found
        if not self._attempts.take(request.client.host if request.client else ""):
            raise HTTPException(429, "Too many attempts. Wait a minute.")
        text = "A client's token is required, as Authorization: Bearer <token>."
        raise HTTPException(401, text, {"www-authenticate": "Bearer"})

    def gateway_reader(self, request: HTTPConnection) -> BusClient:
        """The client that asks. Raises HTTPException for one that may not see the gateway."""
        client = self.client(request)
        if not client.scopes.gateway_read:
            raise HTTPException(403, f"{client.name} has no scope gateway:read.")
        return client

    def gateway_writer(self, request: HTTPConnection) -> BusClient:
        """The client that asks. Raises HTTPException for one that may not run the gateway."""
        client = self.client(request)
        if not client.scopes.gateway_write:
            own = f"{client.name} has no scope gateway:write."
            raise HTTPException(403, _READ_ONLY if client.name.startswith(CONSOLE) else own)
        return client


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


async def bytes_of(request: Request) -> bytes:
    """What a request carries. Raises HTTPException."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"A request has at most {MAX_BODY_BYTES:,} bytes.")
    return bytes(body)


async def body_of(request: Request) -> Any:
    """The JSON data that a request carries. Raises HTTPException."""
    body = await bytes_of(request)
    try:
        return read_json(body)
    except ValueError as error:
        raise HTTPException(400, f"The request is not JSON: {error}.") from error


async def object_of(request: Request) -> Mapping[str, Any]:
    """The JSON object that a request carries; an empty one for other data. Raises HTTPException."""
    body = await body_of(request)
    return body if isinstance(body, dict) else {}


@contextmanager
def known_mark() -> Iterator[None]:
    """Within, what is no mark of a list (ValueError) is refused."""
    try:
        yield
    except ValueError as error:
        raise HTTPException(422, "after is the `next` of an earlier answer.") from error


def number(request: Request, name: str, default: float, most: float) -> float:
    """A number of the query, from 0 to `most`. Raises HTTPException."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise HTTPException(422, f"{name} is a number from 0 to {most:g}.")
    return value


def whole(request: Request, name: str, default: int, most: int, *, least: int = 0) -> int:
    """A whole number of the query, from `least` to `most`. Raises HTTPException."""
    text = request.query_params.get(name)
    if text is None:
        return default
    value = whole_number(text, most)
    if value is None or value < least:
        raise HTTPException(422, f"{name} is a whole number from {least:,} to {most:,}.")
    return value


def chosen(request: Request, name: str, *values: str) -> str:
    """One of these words of the query, the first one by default. Raises HTTPException."""
    value = request.query_params.get(name, values[0])
    if value not in values:
        raise HTTPException(422, f"{name} is one of {', '.join(values)}.")
    return value


def one_for_each_path(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """The routes, with those of one path made one by their methods.

    Fixed paths come before those with a part that varies, so that a refusal names the methods of the path itself.
    """
    every = list(routes)
    ways: dict[str, list[Route]] = {}
    for route in every:
        if isinstance(route, Route):
            ways.setdefault(route.path, []).append(route)
    others = [route for route in every if not isinstance(route, Route)]
    fixed_first = sorted(ways.items(), key=lambda way: "{" in way[0])
    return [*others, *(same[0] if len(same) == 1 else _joined(path, same) for path, same in fixed_first)]


def _joined(path: str, routes: Sequence[Route]) -> Route:
    """One route for all methods of a path, so that a refusal of any other names all of them. GET answers HEAD too."""
    handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {
        method: route.endpoint for route in routes for method in (route.methods or set()) - {"HEAD"}
    }

    async def answer_one(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer_one, methods=list(handlers))


def answer(data: Any, status: int = 200) -> Response:
    return Response(write_json(data), status, headers=_NO_STORE, media_type="application/json")


async def refused(_request: Request, error: Exception) -> Response:
    """The answer to a request that is refused, or for which an inbox has no room."""
    if isinstance(error, InboxFull):
        error = HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"})
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"error": error.detail}, error.status_code, headers={**_NO_STORE, **(error.headers or {})})


def limit_of(request: Request) -> int:
    return int(number(request, "limit", 50, MOST)) or 1


def page_of(
    request: Request, items: Sequence[Item], name: Callable[[Item], str], data: Callable[[Item], Any]
) -> tuple[list[Any], str | None]:
    """The items behind the one that `after` names, as data, and the cursor of the next page; None at the end.

    Where the named one is gone, the list begins anew.
    """
    after, limit = request.query_params.get("after", ""), limit_of(request)
    names = [name(item) for item in items]
    first = names.index(after) + 1 if after in names else 0
    shown = items[first : first + limit]
    return [data(item) for item in shown], names[first + limit - 1] if len(items) > first + limit else None
