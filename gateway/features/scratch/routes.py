"""`…/scratch`, `…/messages` and `…/variables` of `/bus/v1/sessions/{session}`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import Client, answer, body_of
from gateway.feature import FeatureDoor, FeatureGround
from gateway.features.scratch.rooms import NotPossible, ScratchRooms
from runtime.core.errors import InboxFull
from runtime.core.ids import AgentId, SessionId
from runtime.sessions.commands.alter import Alteration
from runtime.stores.catalog import SessionCatalog

MAX_TEXT = 20_000
"""The length of the longest message."""

MAX_VALUE = 100_000
"""The length of the longest value, as JSON."""

MAX_KEY = 200
_MOST = 2**53

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ScratchRoutes:
    """The requests about scratch rooms. Each has a key: the same key is done once."""

    scratch: ScratchRooms
    catalog: SessionCatalog
    door: FeatureDoor

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/sessions/{session}/scratch", self.begin, methods=["POST"]),
            Route("/sessions/{session}/messages", self.say, methods=["POST"]),
            Route("/sessions/{session}/variables", self.alter, methods=["POST"]),
        ]

    async def _reader(self, request: Request) -> Client:
        """The client that asks, who may know what is said in the session."""
        client = self.door.writer(request)
        known = await self.catalog.find(_session(request))
        if known is not None:
            await self.door.rooms.check_room(client, known.record)
        return client

    async def begin(self, request: Request) -> Response:
        """Copy a session into a scratch room, as it was at fact {"at"}: 201, or 202 where it has not begun yet."""
        client, body = await self._reader(request), await _body(request)
        at = body.get("at")
        if at is not None and not (type(at) is int and 0 < at < _MOST):
            raise HTTPException(422, "at is the number of a fact.")
        copy = await _done(self.scratch.begin(client, _session(request), at, _text(body, "key", MAX_KEY)))
        words = copy.words if client.scopes.content else ""
        told = {"session": copy.session, "seq": copy.seq, "words": words, "begun": copy.begun}
        return answer(told, 201 if copy.begun else 202)

    async def say(self, request: Request) -> Response:
        """Say {"text"} to a copy, in the name of the person {"as"} or in one's own."""
        client, body = await self._reader(request), await _body(request)
        text, key = _text(body, "text", MAX_TEXT), _text(body, "key", MAX_KEY)
        person = None if body.get("as") is None else _text(body, "as", MAX_KEY)
        return _kept(await _done(self.scratch.say(client, _session(request), text, person, key)))

    async def alter(self, request: Request) -> Response:
        """Give the variable {"name"} of {"agent"}, or of its {"frame"}, another {"value"} in a copy."""
        client, body = await self._reader(request), await _body(request)
        agent, name, key = (_text(body, one, MAX_KEY) for one in ("agent", "name", "key"))
        if "value" not in body or len(json.dumps(body["value"])) > MAX_VALUE:
            raise HTTPException(422, f"value is JSON of at most {MAX_VALUE:,} characters.")
        frame = None if body.get("frame") is None else _text(body, "frame", MAX_KEY)
        change = Alteration(AgentId(agent), name, body["value"], frame)
        return _kept(await _done(self.scratch.alter(client, _session(request), change, key)))


async def _done(work: Awaitable[Found]) -> Found:
    try:
        return await work
    except NotPossible as error:
        raise HTTPException(409, str(error)) from error
    except LookupError as error:
        raise HTTPException(404, "There is no such session.") from error
    except InboxFull as error:
        raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error


def _session(request: Request) -> SessionId:
    return SessionId(str(request.path_params["session"]))


async def _body(request: Request) -> Mapping[str, Any]:
    body = await body_of(request)
    return body if isinstance(body, dict) else {}


def _text(body: Mapping[str, Any], name: str, most: int) -> str:
    text = body.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > most:
        raise HTTPException(422, f"{name} is a text of 1 to {most:,} characters.")
    return text


def _kept(new: bool) -> Response:
    return answer({"accepted": int(new), "known": int(not new)}, 202)


def scratch_routes(ground: FeatureGround, door: FeatureDoor) -> list[BaseRoute]:
    """The routes, to be mounted with those of the bus."""
    catalog, tapes, inbox = ground.database.catalog, ground.database.tapes, ground.database.inbox
    scratch = ScratchRooms(catalog, tapes, door.moments, inbox, tapes.beginning, ground.clock)
    return ScratchRoutes(scratch, catalog, door).routes()
