"""The routes `/bus/v1/tasks`: clients order tasks, look at them, wait for their results, speak to them and end them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.admission import Admission, Client
from gateway.clients.requests import MAX_WAIT_S, answer, body_of, number
from gateway.clients.tasks.service import ClientTask, TaskService
from runtime.core.ids import SessionId


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
