"""The official client of the Model Context Protocol at a gateway, over kills."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import RequestParamsMeta
from mcp_types.methods import parse_server_notification, validate_server_result

from tests.e2e.gateway_process import ROOT, Gateway, gateway
from tests.fakes.servers.ports import free_port
from tests.fakes.servers.wire import Exchange, Tee

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"
TOKEN = "a-token-of-the-desktop-in-tests"
KEY = "parley/idempotencyKey"


def settings(folder: Path, port: int) -> dict[str, str]:
    (folder / "desktop").write_text(TOKEN)
    return {
        "PARLEY_WEB__PORT": str(port),
        "PARLEY_MCP__ON": "true",
        "PARLEY_CLIENTS__DESKTOP__TOKEN_FILE": str(folder / "desktop"),
        "PARLEY_CLIENTS__DESKTOP__SCOPES": "tasks:write:errands,tasks:read:errands",
    }


class Wire(httpx2.AsyncHTTPTransport):
    """Keeps what passes, to be checked against the types that the SDK makes from the specification's schema."""

    def __init__(self) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        media_type = response.headers.get("content-type", "").partition(";")[0]
        asked = await request.aread()
        made = Exchange(request.method, request.url.path, asked, response.status_code, media_type)
        self.exchanges.append(made)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Kept(response.stream, made.pieces)
        return response

    def methods(self, version: str) -> set[str]:
        """The methods of all answers, each of which is as the specification of this version has it."""
        found = set[str]()
        for one in self.exchanges:
            method = json.loads(one.asked)["method"] if one.asked else ""
            for answer in one.answers:
                assert answer["jsonrpc"] == "2.0"
                if "method" in answer:
                    parse_server_notification(answer["method"], version, answer.get("params"))
                elif "result" in answer:
                    validate_server_result(method, version, answer["result"])
                else:
                    assert set(answer["error"]) <= {"code", "message", "data"}
                found.add(answer.get("method", method))
        return found


class Kept(Tee, httpx2.AsyncByteStream):
    """A body of httpx2."""


@asynccontextmanager
async def connected(port: int, seen: set[str] | None = None, **headers: str) -> AsyncIterator[Client]:
    """The official client, as a person's desktop has it. `seen` gets the methods of what came."""
    own = {"authorization": f"Bearer {TOKEN}", **headers}
    timeout = httpx2.Timeout(60, read=None)
    wire = Wire()
    async with httpx2.AsyncClient(headers=own, timeout=timeout, trust_env=False, transport=wire) as http:
        target = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(target) as client:
            yield client
            version = client.protocol_version
    methods = wire.methods(version)
    if seen is not None:
        seen |= methods


async def call(client: Client, tool: str, *, key: str | None = None, **arguments: Any) -> Any:
    """What a tool gives, or the text of its error."""
    meta = None if key is None else cast("RequestParamsMeta", {KEY: key})
    found = await client.call_tool(tool, arguments, meta=meta)
    return found.content[0].text if found.is_error else found.structured_content  # type: ignore[union-attr]


async def again(running: Gateway) -> None:
    running.kill()
    await running.gone()
    await running.start()


async def test_playbooks_are_tools_and_a_task_outlives_a_kill(tmp_path: Path) -> None:
    port, seen = free_port(), set[str]()
    fetch = {"program": "errands", "agent": "Runner", "playbook": "Fetch"}
    async with gateway(tmp_path, ERRANDS, settings(tmp_path, port)) as running:
        async with connected(port, seen) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"start_task", "task_status", "task_result", "answer_task", "errands-Runner-Fetch"} <= tools.keys()
            assert tools["errands-Runner-Fetch"].description == "Takes a moment."
            assert tools["errands-Runner-Fetch"].meta == {KEY: True}
            assert tools["errands-Runner-Carry"].input_schema == {
                "type": "object",
                "properties": {
                    "what": {"type": "string", "minLength": 1},
                    "times": {"type": "integer", "default": 1},
                },
                "required": ["what"],
                "additionalProperties": False,
            }
            assert await call(client, "errands-Runner-Carry", what="a box", times=2) == {"result": "a box a box"}
            heard: list[str | None] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                heard.append(message)

            await client.call_tool("errands-Runner-Carry", {"what": "a box"}, progress_callback=hear)
            assert [text for text in heard if not str(text).startswith("Task ")] == ["I carry a box."]
            heard.clear()
            await client.call_tool("errands-Runner-Count", {"until": 30}, progress_callback=hear)
            counted = [str(text) for text in heard if not str(text).startswith("Task ")]
            assert counted[-1] == "".join(f"{number} " for number in range(30))
            assert len(counted) > 2
            assert all(later.startswith(text) for text, later in pairwise(counted))
            assert await call(client, "errands-Runner-Break") == "it broke"
            assert "takes" in await call(client, "errands-Runner-Carry", which="a box")
            started = await call(client, "start_task", **fetch, key="nightly")
            assert await call(client, "start_task", **fetch, key="nightly") == {**started, "status": "working"}
            asked = await call(client, "start_task", **{**fetch, "playbook": "Choose"})
        await again(running)
        async with connected(port, seen) as client:
            task = started["task"]
            done = {"task": task, "status": "completed", "value": "fetched"}
            assert await call(client, "task_result", task=task, wait_s=60) == done
            assert await call(client, "task_status", task=task) == done
            assert await call(client, "errands-Runner-Fetch", key="nightly") == {"result": "fetched"}
            asks = await call(client, "task_result", task=asked["task"], wait_s=60)
            assert (asks["status"], asks["question"]["options"]) == ("input_required", ["left", "right"])
            answered = await call(client, "answer_task", task=asked["task"], text="right", id="1")
            assert answered["status"] in ("working", "completed")
            assert (await call(client, "task_result", task=asked["task"], wait_s=60))["value"] == "right"
            assert await call(client, "task_status", task="nobodys") == "There is no such task for you."
    assert seen == {"server/discover", "tools/list", "tools/call", "notifications/progress"}


async def test_without_a_token_or_from_a_foreign_page_nothing_is_answered(tmp_path: Path) -> None:
    port = free_port()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"accept": "application/json, text/event-stream"}
    async with gateway(tmp_path, ERRANDS, settings(tmp_path, port)), httpx2.AsyncClient(trust_env=False) as http:
        url, known = f"http://127.0.0.1:{port}/mcp", {"authorization": f"Bearer {TOKEN}"}
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer wrong"}, 401),
            ({**known, "origin": "https://evil.example"}, 403),
            ({**known, "host": "evil.example"}, 421),
            (known, 200),
        ):
            assert (await http.post(url, json=ping, headers={**accept, **headers})).status_code == status
        foreign = {**accept, **known, "origin": "https://evil.example"}
        assert (await http.get(url, headers=foreign)).status_code == 403
