"""The server of the Model Context Protocol, over streamable HTTP, at `/mcp`.

Public playbooks as tools of the Model Context Protocol, and the tools for tasks.
"""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
import mcp_types as mcp
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gateway.clients.requests import MAX_BODY_BYTES, MAX_WAIT_S, BusClient, ClientAdmission, refused
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.version import VERSION
from runtime.core.ids import SessionId
from runtime.execution.questions.form import type_schema
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program

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

KEY = "parley/idempotencyKey"
"""In `_meta` of a call: the name of the order, by which a repetition is the same order. Tools say by it that they do
once what comes under one key."""

START, STATUS, RESULT, ANSWER = "start_task", "task_status", "task_result", "answer_task"

MAX_NAME_CHARS = 64
"""The longest name of a tool that every known client takes."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
_READS = mcp.ToolAnnotations(read_only_hint=True)
_TASK = {"type": "string", "description": "The id of the task."}


class McpDoor:
    """The requests at `/mcp`. Each is served by itself, so any node may answer it, also after a restart. `run` has to
    run."""

    def __init__(self, admission: ClientAdmission, tasks: TaskService) -> None:
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
        self._deeds: Mapping[str, Callable[[BusClient, Mapping[str, Any]], Awaitable[ClientTask]]] = {
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

    async def _list(self, context: _Context, _: mcp.PaginatedRequestParams | None) -> mcp.ListToolsResult:
        tools = playbook_tools(self._tasks.orderable(_client(context)))
        return mcp.ListToolsResult(tools=[*task_tools(), *(each.tool for each in tools.values())])

    async def _call(self, context: _Context, params: mcp.CallToolRequestParams) -> mcp.CallToolResult:
        client, given = _client(context), params.arguments or {}
        key = (context.meta or {}).get(KEY)
        try:
            if params.name in self._deeds:
                keyed = {"key": key, **given} if params.name == START and key is not None else given
                return _told(await self._deeds[params.name](client, keyed))
            tool = playbook_tools(self._tasks.orderable(client)).get(params.name)
            if tool is None:
                raise MCPError(mcp.INVALID_PARAMS, f"There is no tool {params.name} for {client.name}.")
            order = {"program": tool.program, "agent": tool.agent, "playbook": tool.playbook, "arguments": given}
            task = await self._start(client, {**order, **({} if key is None else {"key": key})})
            return _outcome(await self._waited(context, task))
        except HTTPException as error:
            return _failed(error.detail)

    async def _waited(self, context: _Context, task: ClientTask) -> ClientTask:
        """The task at its end, or when it asks. Who wants to know hears what it says meanwhile, also
        while that is being written, and that it goes on."""
        deadline = anyio.current_time() + self._tasks.door.limits.within_s + _GRACE_S
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

    async def _start(self, client: BusClient, given: Mapping[str, Any]) -> ClientTask:
        id_, _ = await self._tasks.order(client, given)
        return await self._tasks.own(id_)

    async def _status(self, client: BusClient, given: Mapping[str, Any]) -> ClientTask:
        return await self._tasks.find(client, _named(given))

    async def _result(self, client: BusClient, given: Mapping[str, Any]) -> ClientTask:
        wait_s = given.get("wait_s", 0)
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 <= wait_s <= MAX_WAIT_S:
            raise HTTPException(422, f"wait_s is a number from 0 to {MAX_WAIT_S:g}.")
        return await self._tasks.wait(await self._status(client, given), wait_s)

    async def _answer(self, client: BusClient, given: Mapping[str, Any]) -> ClientTask:
        task = await self._tasks.find(client, _named(given), "write")
        await self._tasks.speak(client, task, given.get("id"), given.get("text"))
        return await self._tasks.heard(task, _BEAT_S)


def _client(context: _Context) -> BusClient:
    request = context.request
    if request is None:  # pragma: no cover - only another transport would have none
        raise MCPError(mcp.INVALID_PARAMS, "No request.")
    client: BusClient = request.state.client
    return client


def _named(given: Mapping[str, Any]) -> SessionId:
    return SessionId(str(given.get("task") or ""))


def _told(task: ClientTask) -> mcp.CallToolResult:
    data = task.data()
    return mcp.CallToolResult(content=[_text(data)], structured_content=data)


def _outcome(task: ClientTask) -> mcp.CallToolResult:
    if task.view.status == "completed":
        data = {"result": task.view.value}
        return mcp.CallToolResult(content=[_text(task.view.value)], structured_content=data)
    if task.question is not None:
        asked = task.question
        options = f" Options: {', '.join(asked.options)}." if asked.options else ""
        how = f"Answer with {ANSWER} for task {task.id}, then call {RESULT}."
        return _failed(f"The playbook asks: {asked.text}{options} {how}")
    if not task.over:
        return _failed(f"Task {task.id} goes on. Call {RESULT} for its result.")
    return _failed(task.view.error or f"The playbook was {task.view.status}.")


def _failed(text: str) -> mcp.CallToolResult:
    return mcp.CallToolResult(content=[mcp.TextContent(type="text", text=text)], is_error=True)


def _text(value: object) -> mcp.TextContent:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return mcp.TextContent(type="text", text=text)


class PlaybookTool(Struct, frozen=True):
    """A playbook that a client may order, and the tool by which it does."""

    program: str
    agent: str
    playbook: str
    tool: mcp.Tool


def playbook_tools(orderable: Iterable[tuple[Program, AgentSpec, PlaybookSpec]]) -> Mapping[str, PlaybookTool]:
    """The tools of playbooks, by name; no name occurs twice."""
    found: dict[str, PlaybookTool] = {}
    for program, agent, playbook in orderable:
        name = _free(_FORBIDDEN.sub("_", f"{program.name}-{agent.name}-{playbook.name}")[:MAX_NAME_CHARS], found)
        tool = mcp.Tool(
            name=name,
            title=f"{agent.name}: {playbook.name}",
            description=playbook.description or f"{playbook.name} of {agent.name}, in the program {program.name}.",
            input_schema=parameters_schema(playbook.params),
            annotations=mcp.ToolAnnotations(read_only_hint=True) if playbook.pure else None,
            _meta={KEY: True},
        )
        found[name] = PlaybookTool(program.name, agent.name, playbook.name, tool)
    return found


def parameters_schema(params: Sequence[Param]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {param.name: _property(param) for param in params},
        "required": [param.name for param in params if param.default is None],
        "additionalProperties": False,
    }


def task_tools() -> list[mcp.Tool]:
    order = {
        "program": {"type": "string"},
        "agent": {"type": "string", "description": "The agent's class."},
        "playbook": {"type": "string", "description": "A public playbook of this agent."},
        "arguments": {"type": "object", "description": "Values by the names of the parameters."},
        "within_s": {"type": "number", "exclusiveMinimum": 0, "description": "The time limit, in seconds."},
        "limits": {"type": "object", "description": "tokens and dollars that it may cost."},
        "key": {"type": "string", "description": "A name of this order: the same one again gives the same task."},
    }
    wait = {"type": "number", "minimum": 0, "maximum": 60, "description": "How long to wait, in seconds."}
    answer = {
        "task": _TASK,
        "text": {"type": "string", "description": "What is said: an option, or words."},
        "id": {"type": "string", "description": "A name of this answer: the same one again changes nothing."},
    }
    return [
        mcp.Tool(
            name=START,
            description="Have a playbook executed in the background. Gives the id of the task at once.",
            input_schema=_object(order, ["program", "agent", "playbook"]),
            _meta={KEY: True},
        ),
        mcp.Tool(
            name=STATUS,
            description="How far a task has come, without waiting.",
            input_schema=_object({"task": _TASK}, ["task"]),
            annotations=_READS,
        ),
        mcp.Tool(
            name=RESULT,
            description="The result of a task, waited for: its value or error once it is over, or what it asks.",
            input_schema=_object({"task": _TASK, "wait_s": wait}, ["task"]),
            annotations=_READS,
        ),
        mcp.Tool(
            name=ANSWER,
            description="Answer what a task asks, or tell it something.",
            input_schema=_object(answer, ["task", "text", "id"]),
            annotations=mcp.ToolAnnotations(idempotent_hint=True),
        ),
    ]


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, Any]:
    """The schema of a parameter: of its type if it has one, with its default if that is a literal."""
    found = type_schema(param.type, optional=param.default == "None") if param.type else {}
    if param.default is not None:
        try:
            default = ast.literal_eval(param.default)
        except (ValueError, SyntaxError):
            return found
        if isinstance(default, str | int | float | bool | list | dict | None):
            found = {**found, "default": default}
    return found


def _free(name: str, taken: Mapping[str, PlaybookTool]) -> str:
    number, free = 2, name
    while free in taken or free in (START, STATUS, RESULT, ANSWER):
        free = f"{name[: MAX_NAME_CHARS - 4]}_{number}"
        number += 1
    return free
