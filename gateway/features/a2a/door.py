"""The routes of the protocol, and who may use them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from a2a.server.context import ServerCallContext
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from anyio.abc import TaskGroup
from google.protobuf.json_format import MessageToDict
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.clients.requests import ClientAdmission, bytes_of, refused
from gateway.clients.tasks.service import TaskService
from gateway.feature import ClientGround
from gateway.features.a2a.handler import CALLER, TaskListing, TaskRequests
from gateway.features.a2a.messages import JSONRPC, REST, Skill, card_of, skills_of
from gateway.features.a2a.push import HttpPost, Pushes, http_client
from runtime.core.json_text import read_json
from runtime.language.program import Program
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.records import RedisRecords
from runtime.stores.sessions import LeaseHolder

PUSHES_TABLE = "a2a-pushes"

_NO_JSON = b"{"

_SDK = logging.getLogger("a2a")
"""The SDK's logger, silenced: it would log what clients send."""
_SDK.addHandler(logging.NullHandler())
_SDK.propagate = False


class A2aDoor:
    """The agent card, which everybody may read, and the requests of clients."""

    def __init__(
        self,
        admission: ClientAdmission,
        tasks: TaskService,
        programs: Sequence[Program],
        listing: TaskListing,
        pushes: Pushes,
    ) -> None:
        self._admission = admission
        self._skills: dict[str, Skill] = dict(skills_of(programs))
        self._pushes = pushes
        self._requests = TaskRequests(tasks, listing, pushes)

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes, beside those of the chat. Foreign hosts and origins are refused before them."""
        calls = _Calls()
        middleware = [Middleware(_Admitted, admission=self._admission)]
        rpc = create_jsonrpc_routes(self._requests, "/", calls)
        rest = create_rest_routes(self._requests, calls)
        return [
            Route(AGENT_CARD_WELL_KNOWN_PATH, self._card, methods=["GET"]),
            Route(JSONRPC, _Admitted(rpc[0].app, self._admission), methods=["POST"]),
            Mount(REST, routes=rest, middleware=middleware),
        ]

    async def _card(self, request: Request) -> Response:
        card = card_of(self._skills, str(request.base_url).rstrip("/"), pushes=self._pushes.on)
        return JSONResponse(MessageToDict(card), headers={"cache-control": "no-cache"})


class _Calls(ServerCallContextBuilder):
    def build(self, request: Request) -> ServerCallContext:
        state = {CALLER: request.state.client, "headers": dict(request.headers)}
        return ServerCallContext(state=state)


class _Admitted:
    """Lets clients pass, with requests of a bounded length."""

    def __init__(self, app: ASGIApp, admission: ClientAdmission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            request.state.client = self._admission.client(request)
        except HTTPException as error:
            await (await refused(request, error))(scope, receive, send)
            return
        unread: list[Message | HTTPException]
        try:
            unread = [{"type": "http.request", "body": _readable(await bytes_of(request))}]
        except HTTPException as too_long:
            if request.url.path != JSONRPC:
                await (await refused(request, too_long))(scope, receive, send)
                return
            unread = [too_long]  # the SDK says so by its protocol

        async def again() -> Message:
            came = unread.pop() if unread else await receive()
            if isinstance(came, HTTPException):
                raise came
            return came

        await self._app(scope, again, send)


def _readable(body: bytes) -> bytes:
    """The body of a request; one that is no JSON for us is none for the SDK either, which says so by its protocol."""
    try:
        read_json(body)
    except ValueError:
        return _NO_JSON if body else body
    return body


def open_doors(ground: ClientGround, tasks: TaskGroup) -> Sequence[BaseRoute]:
    """The routes. Push notifications are sent in `tasks`, by one node for all."""
    own, records = ground.settings.a2a, RedisRecords(ground.connection, PUSHES_TABLE)
    post = HttpPost(http_client(), private=own.push_private)
    pushes = Pushes(ground.service, ground.feed, records, own.push_hosts, post, ground.clock)
    if pushes.on:
        tasks.start_soon(pushes.run, RedisLeaseStore(ground.connection), LeaseHolder(ground.node))
    listing = TaskListing(ground.service, ground.catalog)
    return A2aDoor(ground.admission, ground.service, list(ground.programs.values()), listing, pushes).routes
