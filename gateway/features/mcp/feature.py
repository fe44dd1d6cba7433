"""What MCP adds to Parley: clients order tasks over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import ClientGround, Feature

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from starlette.routing import BaseRoute


def _doors(ground: ClientGround, tasks: TaskGroup) -> Sequence[BaseRoute]:
    if not ground.settings.mcp.on:
        return ()
    from gateway.features.mcp.server import McpDoor

    door = McpDoor(ground.admission, ground.service)
    tasks.start_soon(door.run)
    return (door.route,)


mcp = Feature("mcp", doors=_doors)
