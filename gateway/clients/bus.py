"""The bus for clients: one application with all of its routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from gateway.clients.admission import Admission
from gateway.clients.agents import AgentRoutes, Registers
from gateway.clients.events import EventRoutes, Publishing
from gateway.clients.feed import Feed
from gateway.clients.requests import by_method, one_for_each_path, refused
from gateway.clients.socket import SocketRoute
from gateway.clients.tasks.routes import TaskRoutes
from gateway.clients.tasks.service import TaskService
from gateway.clients.triggers import EventTriggers
from runtime.core.clock import Clock

PREFIX = "/bus/v1"
"""Where the application is mounted."""


DOCUMENTS = ("openapi.json", "asyncapi.json")
"""The descriptions for tools, beside this file. They hold no secret, so nobody is asked who they are."""


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
