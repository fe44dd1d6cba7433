"""The bus served by a process of its own, beside a gateway: each of the two is killed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.e2e.gateway_process import gateway, parley
from tests.e2e.services.test_bus import ERRANDS, TOKENS, again, reading, send, settings
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def test_clients_are_served_over_kills_of_the_bus_and_of_the_gateway(tmp_path: Path) -> None:
    port = free_port()
    own = settings(tmp_path, 0)
    headers = {"authorization": f"Bearer {TOKENS['sender']}"}
    async with (
        gateway(tmp_path, ERRANDS, own) as running,
        gateway(tmp_path, ERRANDS, own, options=["--role", "bus", "--port", str(port)]) as bus,
        reading("python", tmp_path, port) as read,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as http,
    ):
        order = {"program": "errands", "agent": "Runner", "playbook": "Fetch", "key": "nightly"}
        task = (await http.post("/bus/v1/tasks", json=order)).json()["task"]
        await send(tmp_path, port, 1)
        await again(bus)
        await again(running)
        assert (await http.post("/bus/v1/tasks", json=order)).json() == {"task": task}
        result = await http.get(f"/bus/v1/tasks/{task}/result", params={"wait_s": 60})
        assert result.json() == {"task": task, "status": "completed", "value": "fetched"}
        await send(tmp_path, port, 2)
        assert [event["data"]["number"] for event in await read.until(2, "build.done")] == [1, 2]
        assert [event["source"] for event in await read.until(1, "agent.done")] == [f"/sessions/{task}"]
        statuses = {path: (await http.get(path)).status_code for path in ("/healthz", "/readyz", "/", "/login")}
        assert statuses == {"/healthz": 200, "/readyz": 200, "/": 404, "/login": 404}
        nodes = (await http.get("/bus/v1/agents", headers={"authorization": f"Bearer {TOKENS['reader']}"})).json()
        assert len(nodes["nodes"]) == 1


async def test_without_clients_there_is_nothing_to_serve(tmp_path: Path) -> None:
    code, _, errors = await parley(tmp_path, "run", "--role", "bus", "--port", "0")
    assert (code, errors) == (
        2,
        "parley: There is no client for the bus to serve. Add one under [clients.<name>].\n",
    )
