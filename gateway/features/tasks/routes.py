"""Tasks at the console: `GET /bus/v1/tasks`, and acts of owners on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer, limit_of
from gateway.feature import FeatureDoor
from gateway.features.tasks.register import KnownTask, TaskRegister
from runtime.core.errors import InboxFull, TaskRefused

_ORDERED_WITHIN_S = 3.0
"""The wait for a node to order a task again. Chosen: an idle one takes milliseconds."""

_WORDS = ("arguments", "value", "error")
"""What people and models wrote, of a task."""


@dataclass(frozen=True, slots=True)
class KnownTaskRoutes:
    """The requests about tasks."""

    door: FeatureDoor
    register: TaskRegister

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/tasks", self.tasks, methods=["GET"]),
            Route("/tasks/{task}/retry", self.retry, methods=["POST"]),
        ]

    async def tasks(self, request: Request) -> Response:
        """The tasks that have begun, the latest active first. What they are given and return needs `content`."""
        client = self.door.reader(request)
        try:
            tasks, next_ = await self.register.page(request.query_params.get("after", ""), limit_of(request))
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error
        rows = [_task(task, await self.door.rooms.words(client.scopes, task.session.record)) for task in tasks]
        return answer({"tasks": rows, "next": next_ or None})

    async def retry(self, request: Request) -> Response:
        """Order what a task did once more."""
        self.door.writer(request)
        try:
            new, name = await self.register.order_again(str(request.path_params["task"]), _ORDERED_WITHIN_S)
        except TaskRefused as error:
            raise HTTPException(409, str(error)) from error
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return answer({"task": new, "name": name}, 202)


def _task(task: KnownTask, content: bool) -> Mapping[str, Any]:
    data = {**task.data(), "conversation": task.session.record.address.key}
    return data if content else {name: value for name, value in data.items() if name not in _WORDS}
