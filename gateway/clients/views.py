"""Views of the gateway for clients. A request is declared where it is answered, with whether it changes something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.journals import ClosedRooms
from gateway.clients.requests import BusClient
from runtime.tape.snapshot import TapeMoments

_Answer: TypeAlias = Callable[[Any, Request, BusClient], Awaitable[Response]]
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
    """Have a method of a view answer GET for whoever may look at the gateway."""
    return _reached(_Way(path, "GET", acts=False))


def acts(path: str, method: str = "POST") -> Callable[[_AnswerT], _AnswerT]:
    """Have a method of a view answer for whoever may change something."""
    return _reached(_Way(path, method, acts=True))


def _reached(way: _Way) -> Callable[[_AnswerT], _AnswerT]:
    def note(answer: _AnswerT) -> _AnswerT:
        _WAYS[answer] = way
        return answer

    return note


class GatewayView(Struct, frozen=True):
    """Requests about one thing, below /bus/v1."""

    door: FeatureDoor

    def routes(self) -> Sequence[BaseRoute]:
        methods = [method for method in vars(type(self)).values() if callable(method)]
        return [self._route(method, _WAYS[method]) for method in methods if method in _WAYS]

    def _route(self, method: _Answer, way: _Way) -> Route:
        admit = self.door.writer if way.acts else self.door.reader

        async def answer(request: Request) -> Response:
            return await method(self, request, admit(request))

        return Route(way.path, answer, methods=[way.method])
