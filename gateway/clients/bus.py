"""The bus for clients: one application with all of its routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from gateway.clients.admission import Admission, Client
from gateway.clients.agents import AgentRoutes, Registers
from gateway.clients.events import EventRoutes, Publishing
from gateway.clients.feed import Feed
from gateway.clients.requests import MAX_WAIT_S, answer, body_of, by_method, number, one_for_each_path, refused
from gateway.clients.socket import SocketRoute
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.clients.triggers import EventTriggers
from runtime.core.clock import Clock
from runtime.core.ids import SessionId

PREFIX = "/bus/v1"
"""Where the application is mounted."""

DOCUMENTS = ("openapi.json", "asyncapi.json")
"""The descriptions for tools, beside this file. They hold no secret, so nobody is asked who they are."""


class TaskRoutes:
    """The requests about tasks."""

    def __init__(self, admission: Admission, tasks: TaskService) -> None:
        self._admission = admission
        self._tasks = tasks

    async def order(self, request: Request) -> Response:
        """Order a task: 201, or 200 where its key is known."""
        client = self._admission.client(request)
        task, new = await self._tasks.order(client, await body_of(request))
        return answer({"task": task}, 201 if new else 200)

    async def look(self, request: Request) -> Response:
        """How far a task has come, and its result once it is over."""
        _, task = await self._found(request, "read")
        return answer(task.data())

    async def result(self, request: Request) -> Response:
        """The same, waited for: 202 where the time is over first, or the task asks something else than `answered`."""
        _, task = await self._found(request, "read")
        wait_s, answered = number(request, "wait_s", 0.0, MAX_WAIT_S), request.query_params.get("answered")
        task = await self._tasks.wait(task, wait_s, answered=answered)
        return answer(task.data(), 200 if task.over else 202)

    async def cancel(self, request: Request) -> Response:
        """End a task."""
        _, task = await self._found(request, "write")
        await self._tasks.cancel(task)
        return answer({"task": task.id, "status": task.view.status}, 202)

    async def speak(self, request: Request) -> Response:
        """Say something to a task, or answer it, once for each id."""
        client, task = await self._found(request, "write")
        body = await body_of(request)
        said = body if isinstance(body, Mapping) else {}
        new = await self._tasks.speak(client, task, said.get("id"), said.get("text"), said.get("ask"))
        return answer({"accepted": int(new), "known": int(not new)}, 202)

    async def _found(self, request: Request, action: str) -> tuple[Client, ClientTask]:
        client = self._admission.client(request)
        return client, await self._tasks.find(client, SessionId(str(request.path_params["task"])), action)


@dataclass(frozen=True, slots=True)
class ClientBus:
    """The parts that the routes share. `feed` has to run."""

    admission: Admission
    feed: Feed
    tasks: TaskService
    registers: Registers
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
        tasks = TaskRoutes(self.admission, self.tasks)
        agents = AgentRoutes(self.admission, self.feed, self.registers)
        routes = [
            by_method("/events", GET=events.get, POST=events.post),
            WebSocketRoute("/ws", socket.attend),
            Route("/agents", agents.at_work, methods=["GET"]),
            Route("/tasks", tasks.order, methods=["POST"]),
            Route("/tasks/{task}", tasks.look, methods=["GET"]),
            Route("/tasks/{task}/result", tasks.result, methods=["GET"]),
            Route("/tasks/{task}/cancel", tasks.cancel, methods=["POST"]),
            Route("/tasks/{task}/messages", tasks.speak, methods=["POST"]),
            *self.views,
            *(Route(f"/{name}", _document(name), methods=["GET"]) for name in DOCUMENTS),
        ]
        return Starlette(routes=one_for_each_path(routes), exception_handlers={HTTPException: refused})


def _document(name: str) -> Callable[[Request], Awaitable[Response]]:
    file = Path(__file__).parent / name

    async def read(_: Request) -> Response:
        return FileResponse(file, media_type="application/json")

    return read
