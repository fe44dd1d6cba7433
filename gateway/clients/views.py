"""Views for clients. A request is declared where it is answered, with whether it changes something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.journals import ClosedRooms
from gateway.clients.requests import BusClient, ClientAdmission
from runtime.tape.snapshot import TapeMoments

_Answer: TypeAlias = Callable[..., Awaitable[Response]]
_AnswerT = TypeVar("_AnswerT", bound=_Answer)


class FeatureDoor(Struct, frozen=True):
    """Who may look at the gateway, and who may change something: both raise HTTPException. And whose words they may
    read, and how sessions were at any moment."""

    reader: Callable[[HTTPConnection], BusClient]
    writer: Callable[[HTTPConnection], BusClient]
    rooms: ClosedRooms
    moments: TapeMoments


class _Way(Struct, frozen=True):
    path: str
    method: str
    acts: bool


_WAYS: dict[_Answer, _Way] = {}
"""How the methods of views are reached."""


def looks(path: str) -> Callable[[_AnswerT], _AnswerT]:
    """Have a method of a view answer GET."""
    return _reached(_Way(path, "GET", acts=False))


def acts(path: str, method: str = "POST") -> Callable[[_AnswerT], _AnswerT]:
    """Have a method of a view answer a request that changes something."""
    return _reached(_Way(path, method, acts=True))


def _reached(way: _Way) -> Callable[[_AnswerT], _AnswerT]:
    def note(answer: _AnswerT) -> _AnswerT:
        _WAYS[answer] = way
        return answer

    return note


class ClientView(Struct, frozen=True):
    """Requests about one thing, of clients whose scopes are asked for where they are answered."""

    admission: ClientAdmission

    def routes(self) -> Sequence[BaseRoute]:
        return _routes(self, lambda _: self.admission.client)


class GatewayView(Struct, frozen=True):
    """Requests about the gateway, of clients who may look at it, or change something."""

    door: FeatureDoor

    def routes(self) -> Sequence[BaseRoute]:
        return _routes(self, lambda way: self.door.writer if way.acts else self.door.reader)


def _routes(view: object, admission: Callable[[_Way], Callable[[HTTPConnection], BusClient]]) -> list[Route]:
    methods = [method for method in vars(type(view)).values() if callable(method)]
    return [_route(partial(method, view), way, admission(way)) for method in methods if (way := _WAYS.get(method))]


def _route(answer: _Answer, way: _Way, admit: Callable[[HTTPConnection], BusClient]) -> Route:
    async def admitted(request: Request) -> Response:
        return await answer(request, admit(request))

    return Route(way.path, admitted, methods=[way.method])
