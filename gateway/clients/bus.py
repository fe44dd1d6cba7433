"""The bus for clients: one application with all of its routes, of which `/bus/v1/agents` says who is at work: nodes,
tasks, participants and clients.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from gateway.clients import requests
from gateway.clients.events import EventRoutes, EventTriggers, Publishing
from gateway.clients.feed import EventFeed
from gateway.clients.scopes import JOURNAL
from gateway.clients.socket import SocketRoute
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.clients.views import ClientView, acts, looks
from runtime.core.address import session_of
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.sessions import LivingNodes
from runtime.tape.view import AGENT_SPAWN

PREFIX = "/bus/v1"
"""Where the application is mounted."""

DOCUMENTS = ("openapi.json", "asyncapi.json")
"""The descriptions for tools, beside this file. They hold no secret, so nobody is asked who they are."""

_LOOKED_AT = 2_000
"""The other sessions among which one answer looks for tasks; the next answer goes on from there."""

_MOST = 1_000


class _TaskRoutes(ClientView, frozen=True):
    tasks: TaskService

    @acts("/tasks")
    async def order(self, request: Request, client: requests.BusClient) -> Response:
        """Order a task: 201, or 200 where its key is known."""
        task, new = await self.tasks.order(client, await requests.body_of(request))
        return requests.answer({"task": task}, 201 if new else 200)

    @looks("/tasks/{task}")
    async def look(self, request: Request, client: requests.BusClient) -> Response:
        """How far a task has come, and its result once it is over."""
        task = await self._found(request, client, "read")
        return requests.answer(task.data())

    @looks("/tasks/{task}/result")
    async def result(self, request: Request, client: requests.BusClient) -> Response:
        """The same, waited for: 202 where the time is over first, or the task asks something else than `answered`."""
        task = await self._found(request, client, "read")
        wait_s, answered = (
            requests.number(request, "wait_s", 0.0, requests.MAX_WAIT_S),
            request.query_params.get("answered"),
        )
        task = await self.tasks.wait(task, wait_s, answered=answered)
        return requests.answer(task.data(), 200 if task.over else 202)

    @acts("/tasks/{task}/cancel")
    async def cancel(self, request: Request, client: requests.BusClient) -> Response:
        """End a task."""
        task = await self._found(request, client, "write")
        await self.tasks.cancel(task)
        return requests.answer({"task": task.id, "status": task.view.status}, 202)

    @acts("/tasks/{task}/messages")
    async def speak(self, request: Request, client: requests.BusClient) -> Response:
        """Say something to a task, or answer it, once for each id."""
        task = await self._found(request, client, "write")
        body = await requests.body_of(request)
        said = body if isinstance(body, Mapping) else {}
        new = await self.tasks.speak(client, task, said.get("id"), said.get("text"), said.get("ask"))
        return requests.answer({"accepted": int(new), "known": int(not new)}, 202)

    async def _found(self, request: Request, client: requests.BusClient, action: str) -> ClientTask:
        return await self.tasks.find(client, SessionId(str(request.path_params["task"])), action)


class ClientBus(Struct, frozen=True):
    """The parts that the routes share. `feed` has to run."""

    admission: requests.ClientAdmission
    feed: EventFeed
    tasks: TaskService
    registers: ParticipantRegisters
    clock: Clock
    doors: Sequence[BaseRoute] = ()
    """The routes of the standards by which clients order tasks as well, to be mounted beside the bus."""
    views: Sequence[BaseRoute] = ()
    """Further routes of the bus: what there is to see of the whole gateway."""

    def app(self) -> Starlette:
        """The application, to be mounted at `PREFIX`."""
        publishing = Publishing(self.feed, EventTriggers(self.tasks.ordering), self.clock)
        events = EventRoutes(self.admission, self.feed, publishing)
        socket = SocketRoute(self.admission, self.feed, publishing, self.clock)
        views = [
            events,
            _TaskRoutes(self.admission, self.tasks),
            _AgentRoutes(self.admission, self.feed, self.registers),
        ]
        routes = [
            *(route for view in views for route in view.routes()),
            WebSocketRoute("/ws", socket.attend),
            *self.views,
            *(Route(f"/{name}", _document(name), methods=["GET"]) for name in DOCUMENTS),
        ]
        return Starlette(
            routes=requests.one_for_each_path(routes),
            exception_handlers={HTTPException: requests.refused, InboxFull: requests.refused},
        )


def _document(name: str) -> Callable[[Request], Awaitable[Response]]:
    file = Path(__file__).parent / name

    async def read(_: Request) -> Response:
        return FileResponse(file, media_type="application/json")

    return read


class ParticipantRegisters(Struct, frozen=True):
    living: Callable[[], Awaitable[LivingNodes]]
    fronts: Callable[[], Awaitable[LivingNodes]]
    catalog: SessionCatalog
    participants: Sequence[str]


class _AgentRoutes(ClientView, frozen=True):
    feed: EventFeed
    registers: ParticipantRegisters

    @looks("/agents")
    async def at_work(self, request: Request, client: requests.BusClient) -> Response:
        """Nodes, fronts, tasks, participants and clients, for a client that may read of agents that begin."""
        if not client.scopes.may_read(AGENT_SPAWN):
            raise HTTPException(403, f"{client.name} has no scope to read {AGENT_SPAWN}.")
        living, fronts = await self.registers.living(), await self.registers.fronts()
        tasks, next_ = await self._tasks(client, request)
        return requests.answer(
            {
                "nodes": _alive(living),
                "fronts": _alive(fronts),
                "tasks": [_task(known) for known in tasks],
                "next": next_ or None,
                "participants": [{"name": name} for name in self.registers.participants],
                "clients": [
                    {"name": each.name, "connections_here": self.feed.readers(each)} for each in self.admission.clients
                ],
            }
        )

    async def _tasks(self, client: requests.BusClient, request: Request) -> tuple[list[KnownSession], str]:
        """The tasks that a client may see, and the mark of further ones."""

        async def seen(known: KnownSession) -> KnownSession | None:
            record = known.record
            may = session_of(record.address) is not None and client.scopes.may_use("read", record.program)
            return known if may else None

        after, limit = request.query_params.get("after", ""), requests.whole(request, "limit", 500, _MOST, least=1)
        try:
            return await among_sessions(self.registers.catalog, after, limit, seen, _LOOKED_AT)
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error


def _alive(living: LivingNodes) -> list[dict[str, Any]]:
    return [
        {"name": name, "status": "alive", "alive_for_s": round(left_s, 3)}
        for name, left_s in sorted(living.nodes.items())
    ]


def _task(known: KnownSession) -> dict[str, Any]:
    record = known.record
    return {
        "task": record.id,
        "program": record.program,
        "status": "ended" if record.ended else "working",
        "tape": f"{JOURNAL}{record.id}",
        "since": record.started_at.isoformat(),
        "last_heartbeat": known.last_at.isoformat(),
        "node": known.node,
    }
