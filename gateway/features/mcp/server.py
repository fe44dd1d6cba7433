"""The server of the Model Context Protocol, over streamable HTTP, at `/mcp`."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gateway.clients.requests import MAX_BODY_BYTES, MAX_WAIT_S, Admission, Client, refused
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.features.mcp.tools import ANSWER, KEY, RESULT, START, STATUS, playbook_tools, task_tools
from gateway.version import VERSION
from runtime.core.ids import SessionId

PATH = "/mcp"

_GRACE_S = 30.0
"""The time beyond a task's own limit after which a call gives its id instead of its result."""

_BEAT_S = 10.0
"""The time after which a call that waits says how the task stands."""

_TOLD_CHARS = 2_000
"""The part of an utterance that is told while a call waits; the task has all of it."""

_INSTRUCTIONS = (
    "Each playbook is a tool that is executed as a task and gives its result. start_task orders one and gives its id "
    "at once; task_result waits for it. A task that asks is answered with answer_task."
)
_SDK = logging.getLogger("mcp")
"""The SDK's logger, silenced: it would log what clients send."""
_SDK.addHandler(logging.NullHandler())
_SDK.propagate = False

_Context = ServerRequestContext[Any, Request]


class McpDoor:
    """The requests at `/mcp`. Each is served by itself, so any node may answer it, also after a restart. `run` has to
    run."""

    def __init__(self, admission: Admission, tasks: TaskService) -> None:
        self._admission = admission
        self._tasks = tasks
        server = Server(
            "parley",
            version=VERSION,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self._sessions = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=MAX_BODY_BYTES)
        self._deeds: Mapping[str, Callable[[Client, Mapping[str, Any]], Awaitable[ClientTask]]] = {
            START: self._start,
            STATUS: self._status,
            RESULT: self._result,
            ANSWER: self._answer,
        }

    @property
    def route(self) -> Route:
        """The route, beside those of the chat. Foreign hosts and origins are refused before it."""
        return Route(PATH, self, methods=["GET", "POST", "DELETE"])

    async def run(self) -> None:
        """Serve, until cancelled."""
        async with self._sessions.run():
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            request.state.client = self._admission.client(request)
        except HTTPException as error:
            await (await refused(request, error))(scope, receive, send)
            return
        await self._sessions.handle_request(scope, receive, send)

    async def _list(self, context: _Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = playbook_tools(self._tasks.orderable(_client(context)))
        return ListToolsResult(tools=[*task_tools(), *(each.tool for each in tools.values())])

    async def _call(self, context: _Context, params: CallToolRequestParams) -> CallToolResult:
        client, given = _client(context), params.arguments or {}
        key = (context.meta or {}).get(KEY)
        try:
            if params.name in self._deeds:
                keyed = {"key": key, **given} if params.name == START and key is not None else given
                return _told(await self._deeds[params.name](client, keyed))
            tool = playbook_tools(self._tasks.orderable(client)).get(params.name)
            if tool is None:
                raise MCPError(INVALID_PARAMS, f"There is no tool {params.name} for {client.name}.")
            order = {"program": tool.program, "agent": tool.agent, "playbook": tool.playbook, "arguments": given}
            task = await self._start(client, {**order, **({} if key is None else {"key": key})})
            return _outcome(await self._waited(context, task))
        except HTTPException as error:
            return _failed(error.detail)

    async def _waited(self, context: _Context, task: ClientTask) -> ClientTask:
        """The task at its end, or when it asks. Who wants to know hears what it says meanwhile, also
        while that is being written, and that it goes on."""
        deadline = anyio.current_time() + self._tasks.within_s + _GRACE_S
        beats, told, growing = 0, 0, dict[str, str]()
        while not task.over and task.question is None and anyio.current_time() < deadline:
            task = await self._tasks.spoken(task, told, _BEAT_S)
            said = [each.text[:_TOLD_CHARS] for each in task.view.said if each.own and each.seq > told]
            said += [text[-_TOLD_CHARS:] for page, text in task.view.growing.items() if growing.get(page) != text]
            told, growing = max(told, task.view.seq), {**task.view.growing}
            for text in said or [f"Task {task.id} is {task.view.status}."]:
                beats += 1
                await context.session.report_progress(beats, message=text)
        return task

    async def _start(self, client: Client, given: Mapping[str, Any]) -> ClientTask:
        id_, _ = await self._tasks.order(client, given)
        return await self._tasks.own(id_)

    async def _status(self, client: Client, given: Mapping[str, Any]) -> ClientTask:
        return await self._tasks.find(client, _named(given))

    async def _result(self, client: Client, given: Mapping[str, Any]) -> ClientTask:
        wait_s = given.get("wait_s", 0)
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 <= wait_s <= MAX_WAIT_S:
            raise HTTPException(422, f"wait_s is a number from 0 to {MAX_WAIT_S:g}.")
        return await self._tasks.wait(await self._status(client, given), wait_s)

    async def _answer(self, client: Client, given: Mapping[str, Any]) -> ClientTask:
        task = await self._tasks.find(client, _named(given), "write")
        await self._tasks.speak(client, task, given.get("id"), given.get("text"))
        return await self._tasks.heard(task, _BEAT_S)


def _client(context: _Context) -> Client:
    request = context.request
    if request is None:  # pragma: no cover - only another transport would have none
        raise MCPError(INVALID_PARAMS, "No request.")
    client: Client = request.state.client
    return client


def _named(given: Mapping[str, Any]) -> SessionId:
    return SessionId(str(given.get("task") or ""))


def _told(task: ClientTask) -> CallToolResult:
    """How a task stands."""
    data = task.data()
    return CallToolResult(content=[_text(data)], structured_content=data)


def _outcome(task: ClientTask) -> CallToolResult:
    """What a playbook has come to."""
    if task.view.status == "completed":
        data = {"result": task.view.value}
        return CallToolResult(content=[_text(task.view.value)], structured_content=data)
    if task.question is not None:
        asked = task.question
        options = f" Options: {', '.join(asked.options)}." if asked.options else ""
        how = f"Answer with {ANSWER} for task {task.id}, then call {RESULT}."
        return _failed(f"The playbook asks: {asked.text}{options} {how}")
    if not task.over:
        return _failed(f"Task {task.id} goes on. Call {RESULT} for its result.")
    return _failed(task.view.error or f"The playbook was {task.view.status}.")


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _text(value: object) -> TextContent:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return TextContent(type="text", text=text)
