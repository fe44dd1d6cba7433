"""The standards by which clients order tasks besides the bus. Their libraries are loaded when they are on."""

from __future__ import annotations

from collections.abc import Sequence

from anyio.abc import TaskGroup
from starlette.routing import BaseRoute

from gateway.clients.admission import Admission
from gateway.clients.task_service import TaskService
from gateway.settings.tree import Settings


def doors_of(settings: Settings, admission: Admission, service: TaskService, tasks: TaskGroup) -> Sequence[BaseRoute]:
    """The routes of the standards that are on. What they need runs in `tasks`."""
    routes: list[BaseRoute] = []
    if settings.mcp.on:
        from gateway.clients.mcp.server import McpDoor

        door = McpDoor(admission, service)
        tasks.start_soon(door.run)
        routes.append(door.route)
    return routes
