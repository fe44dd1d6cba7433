"""Whatever clients send by the standards is answered, with an error where it is none of theirs, and raises nothing."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette

from gateway.clients.requests import ClientAdmission
from gateway.features.a2a.door import A2aDoor
from gateway.features.a2a.handler import TaskListing
from gateway.features.a2a.push import Pushes
from gateway.features.mcp.server import McpDoor
from runtime.stores.catalog import SessionCatalog
from runtime.tape.facts.tasks import OrderOver
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.protocols.malformed import malformed
from tests.unit.gateway.features.a2a.stand import PARTNER, TASK, TaskStand
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.timeout(300)

TOKEN = "a-token-of-the-partner-in-tests"
RAW = ["NaN", "-Infinity", "1e999", r'"\ud800"', "[" * 150 + "]" * 150, "[" * 40_000, "1" + "0" * 400, "1" * 5_000]
"""Values that a reader of JSON may stumble over, as they are written."""


@asynccontextmanager
async def doors() -> AsyncIterator[httpx.AsyncClient]:
    """A client at both doors. What a door raises the request raises as well."""
    clock = FakeClock()
    runner = agent("Runner", python("Fetch", "what", public=True), code="async def Fetch(what): pass\n")
    programs = {"parcels": replace(program(runner), metadata={"a2a": True})}
    stand = TaskStand(clock, programs)
    await stand.begin()
    await stand.say("I am at it")
    await stand.note(OrderOver("completed", ["done"]))
    admission = ClientAdmission({PARTNER.name: TOKEN}, {PARTNER.name: PARTNER.scopes}, clock)
    pushes = Pushes(stand.service, stand.feed, MemoryRecords(), ["hooks.example.org"], _post, clock)
    listing = TaskListing(stand.service, cast("SessionCatalog", None))
    a2a = A2aDoor(admission, stand.service, list(programs.values()), listing, pushes)
    mcp = McpDoor(admission, stand.service)
    app = Starlette(routes=[mcp.route, *a2a.routes])
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "a2a-version": "1.0"}
    headers["accept"] = "application/json, text/event-stream"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mcp.run)
        await anyio.wait_all_tasks_blocked()
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers, timeout=60) as http:
            yield http
        tasks.cancel_scope.cancel()


async def _post(_url: str, _body: object, _headers: dict[str, str], /) -> bool:
    return True


def written(good: Mapping[str, Any], *inside: str) -> Iterator[str]:
    """A payload as it is written, with each of its parts below `inside` replaced by what does not belong there."""
    part: Any = good
    for name in inside:
        part = part[name]
    for wrong in malformed(part):
        yield json.dumps(_with(good, inside, wrong))
    for name in part:
        for raw in RAW:
            yield json.dumps(_with(good, inside, {**part, name: "@"})).replace('"@"', raw, 1)


def _with(good: Mapping[str, Any], inside: tuple[str, ...], part: Any) -> Any:
    return part if not inside else {**good, inside[0]: _with(good[inside[0]], inside[1:], part)}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": {"parley/idempotencyKey": "k", "progressToken": 1}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


ORDER = {"program": "parcels", "agent": "Runner", "playbook": "Fetch"}
TOOLS = {
    "an order": tool("start_task", **ORDER, arguments={"what": "it"}, within_s=5, limits={"tokens": 5}, key="k"),
    "a look": tool("task_status", task=TASK),
    "a result": tool("task_result", task=TASK, wait_s=0),
    "an answer": tool("answer_task", task=TASK, text="yes", id="1"),
    "a list": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}},
}


@pytest.mark.parametrize("request_", TOOLS.values(), ids=TOOLS)
async def test_a_request_to_the_mcp_server_of_any_form_is_answered(request_: dict[str, Any]) -> None:
    inside = ("params", "arguments") if request_["params"].get("arguments") else ()
    texts = [*written(request_, *inside), *written(request_), "[]", "nul", "7", "[[]]"]
    async with doors() as http:
        for text in texts:
            answer = await http.post("/mcp", content=text)
            assert answer.status_code < 500, (text[:300], answer.text)
        good = await http.post("/mcp", content=json.dumps(TOOLS["a look"]))
        assert "completed" in good.text


MESSAGE = {
    "messageId": "m1",
    "role": "ROLE_USER",
    "parts": [{"text": "it"}, {"data": {"what": "it"}}],
    "metadata": {"skill": "parcels.Runner.Fetch"},
    "extensions": ["urn:x"],
}
CONFIGURATION = {"returnImmediately": True, "historyLength": 1, "acceptedOutputModes": ["text/plain"]}
CALLS: Mapping[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "an order": ("SendMessage", ("params", "message"), {"message": MESSAGE, "configuration": CONFIGURATION}),
    "a look": ("GetTask", (), {"id": TASK, "historyLength": 1}),
    "an end": ("CancelTask", (), {"id": TASK}),
    "a URL": (
        "CreateTaskPushNotificationConfig",
        ("params",),
        {"taskId": TASK, "url": "https://hooks.example.org/x", "authentication": {"scheme": "Bearer"}, "id": "1"},
    ),
    "a URL's end": ("DeleteTaskPushNotificationConfig", ("params",), {"taskId": TASK, "id": "1"}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_request_to_the_a2a_server_of_any_form_is_answered(
    call: tuple[str, tuple[str, ...], dict[str, Any]],
) -> None:
    method, inside, params = call
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with doors() as http:
        for text in [*written(request, *inside), "[]", "nul", "7", "[[]]"]:
            answer = await http.post("/a2a/jsonrpc", content=text)
            assert answer.status_code < 500, (text[:300], answer.text)
        good = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": TASK}}
        assert "done" in (await http.post("/a2a/jsonrpc", content=json.dumps(good))).text


async def test_a_message_to_the_a2a_server_over_rest_of_any_form_is_answered() -> None:
    request = {"message": MESSAGE, "configuration": CONFIGURATION}
    async with doors() as http:
        for text in [*written(request, "message"), "[]", "nul", "7", "[[]]"]:
            answer = await http.post("/a2a/v1/message:send", content=text)
            assert answer.status_code < 500, (text[:300], answer.text)


async def test_a_request_to_the_a2a_server_that_is_too_long_is_refused_by_the_protocol() -> None:
    async with doors() as http:
        answer = await http.post("/a2a/jsonrpc", content=b" " * 1_100_000)
        assert (await http.post("/a2a/v1/message:send", content=b" " * 1_100_000)).status_code == 413
    assert answer.json()["error"]["message"] == "Payload too large"
