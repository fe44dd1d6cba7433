"""Other programs at the bus of a gateway that is killed: what they read has no gap, and nothing comes twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio.abc import Process, TaskGroup
from anyio.streams.text import TextReceiveStream

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, Room, environment_of, gateway
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"
READ = {
    "python": [sys.executable, str(ROOT / "examples" / "bus_client.py")],
    "node": ["node", str(ROOT / "examples" / "bus_client.mjs")],
}
SENDER = ("events:write:build.*", "tasks:write:errands", "tasks:read:errands", "triggers:errands")
TOKENS = {"reader": "a-token-of-the-reader-in-tests", "sender": "a-token-of-the-sender-in-tests"}


def settings(folder: Path, port: int) -> dict[str, str]:
    """Two clients: one reads everything, one sends and orders."""
    for name, token in TOKENS.items():
        (folder / name).write_text(token)
    return {
        "PARLEY_WEB__PORT": str(port),
        "PARLEY_CLIENTS__READER__TOKEN_FILE": str(folder / "reader"),
        "PARLEY_CLIENTS__READER__SCOPES": "events:read:>,content",
        "PARLEY_CLIENTS__SENDER__TOKEN_FILE": str(folder / "sender"),
        "PARLEY_CLIENTS__SENDER__SCOPES": ",".join(SENDER),
        "PARLEY_PUBLISHERS__ERRANDS__TYPES": "build.*",
        "PARLEY_PUBLISHERS__ERRANDS__BEGINS": "errands",
    }


class Printed:
    """A client's process, and the events that it has printed."""

    def __init__(self, process: Process, tasks: TaskGroup) -> None:
        self.events: list[dict[str, Any]] = []
        self._changed = anyio.Event()
        tasks.start_soon(self._read, process)

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        text = ""
        async for piece in TextReceiveStream(process.stdout):
            *lines, text = (text + piece).split("\n")
            self.events += [json.loads(line) for line in lines]
            self._changed.set()
            self._changed = anyio.Event()

    async def until(self, count: int, type_: str) -> list[dict[str, Any]]:
        """The events of a type, once there are so many."""
        with anyio.fail_after(SEEN_LIMIT_S):
            while len(found := [event for event in self.events if event["type"] == type_]) < count:
                await self._changed.wait()
        return found


@asynccontextmanager
async def reading(kind: str, folder: Path, port: int, pattern: str = ">") -> AsyncIterator[Printed]:
    """A documented client that reads."""
    environment = environment_of(folder, {"PARLEY_TOKEN_FILE": str(folder / "reader")})
    command = [*READ[kind], f"http://127.0.0.1:{port}", pattern]
    async with anyio.create_task_group() as tasks:
        process = await anyio.open_process(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            yield Printed(process, tasks)
        finally:
            with anyio.CancelScope(shield=True):
                process.kill()
                await process.wait()
                await process.aclose()


async def send(folder: Path, port: int, number: int) -> None:
    """Send one event with a documented client, which repeats it until it is taken."""
    environment = environment_of(folder, {"PARLEY_TOKEN_FILE": str(folder / "sender")})
    data = json.dumps({"number": number})
    command = [*READ["python" if number % 2 else "node"], f"http://127.0.0.1:{port}"]
    await anyio.run_process([*command, "send", "build.done", str(number), data], env=environment)


async def again(running: Gateway) -> None:
    running.kill()
    await running.gone()
    await running.start()


@pytest.mark.parametrize("kind", ["python", "node"])
async def test_a_client_reads_over_kills_without_a_gap_and_nothing_twice(tmp_path: Path, kind: str) -> None:
    port = free_port()
    async with gateway(tmp_path, ERRANDS, settings(tmp_path, port)) as running, reading(kind, tmp_path, port) as read:
        async with anyio.create_task_group() as tasks:
            for number in range(1, 13):
                tasks.start_soon(send, tmp_path, port, number)
            await read.until(2, "build.done")
            await again(running)
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            await room.say("go alone")
            await room.until("I am here.", "3 errands")
            await again(running)
        sent = await read.until(12, "build.done")
        assert sorted(event["data"]["number"] for event in sent) == list(range(1, 13))
        assert {event["source"] for event in sent} == {"/clients/sender"}
        done = await read.until(1, "agent.done")
        assert [event["data"] for event in done] == [{"task_status": "completed", "value": "fetched"}]
        failed = await read.until(2, "agent.error")
        assert sorted(event["data"]["task_status"] for event in failed) == ["canceled", "failed"]
        said = [event["data"]["text"] for event in await read.until(2, "human.message")]
        assert said == ["hi", "go alone"]
        ids = [(event["source"], event["id"]) for event in read.events]
        assert len(ids) == len(set(ids))
        for source in {event["source"] for event in read.events if event["source"].startswith("/sessions/")}:
            numbers = [int(event["sequence"]) for event in read.events if event["source"] == source]
            assert numbers == sorted(numbers)


async def test_a_task_that_a_client_orders_outlives_a_kill_and_gives_its_result_once(tmp_path: Path) -> None:
    port = free_port()
    headers = {"authorization": f"Bearer {TOKENS['sender']}"}
    order = {"program": "errands", "agent": "Runner", "playbook": "Fetch", "key": "nightly"}
    async with (
        gateway(tmp_path, ERRANDS, settings(tmp_path, port)) as running,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/bus/v1", headers=headers, timeout=60) as http,
        reading("python", tmp_path, port, "agent.*") as read,
    ):
        ordered = await http.post("/tasks", json=order)
        assert ordered.status_code == 201, ordered.text
        task = ordered.json()["task"]
        again_ordered = await http.post("/tasks", json=order)
        assert (again_ordered.status_code, again_ordered.json()) == (200, {"task": task})
        assert (await http.get(f"/tasks/{task}")).json()["status"] in ("submitted", "working")
        await again(running)
        result = await http.get(f"/tasks/{task}/result", params={"wait_s": 60})
        assert result.json() == {"task": task, "status": "completed", "value": "fetched"}
        await again(running)
        assert (await http.post("/tasks", json=order)).json() == {"task": task}
        assert (await http.get(f"/tasks/{task}/result")).json()["value"] == "fetched"
        (done,) = await read.until(1, "agent.done")
        assert (done["source"], done["data"]["value"]) == (f"/sessions/{task}", "fetched")
        ears = (await http.post("/tasks", json={**order, "playbook": "Listen", "key": "ears"})).json()["task"]
        asks = (await http.get(f"/tasks/{ears}/result", params={"wait_s": 60})).json()
        question = {"ask": asks["question"]["ask"], "text": "Which way?", "options": ["left", "right"]}
        assert asks == {"task": ears, "status": "input_required", "question": question}
        await again(running)
        told = {"id": "1", "text": "2", "ask": question["ask"]}
        assert (await http.post(f"/tasks/{ears}/messages", json=told)).json() == {"accepted": 1, "known": 0}
        assert (await http.post(f"/tasks/{ears}/messages", json=told)).json() == {"accepted": 0, "known": 1}
        more = {"id": "2", "text": "and hurry"}
        await http.post(f"/tasks/{ears}/messages", json=more)
        heard = await http.get(f"/tasks/{ears}/result", params={"wait_s": 60})
        assert heard.json() == {"task": ears, "status": "completed", "value": ["right", "and hurry"]}
        below = (await http.post("/tasks", json={**order, "playbook": "Delegate", "key": "below"})).json()["task"]
        asks = (await http.get(f"/tasks/{below}/result", params={"wait_s": 60})).json()
        assert (asks["status"], asks["question"]["text"]) == ("input_required", "Which way?")
        await http.post(f"/tasks/{below}/messages", json={"id": "1", "text": "left"})
        answered = {"wait_s": 60, "answered": asks["question"]["ask"]}
        heard = await http.get(f"/tasks/{below}/result", params=answered)
        assert heard.json() == {"task": below, "status": "completed", "value": "left"}
        idle = (await http.post("/tasks", json={**order, "playbook": "Idle", "key": "idle"})).json()["task"]
        await read.until(3, "agent.spawn")
        assert (await http.post(f"/tasks/{idle}/cancel")).status_code == 202
        ended = await http.get(f"/tasks/{idle}/result", params={"wait_s": 60})
        assert (ended.status_code, ended.json()["status"]) == (200, "canceled")
        failed: dict[str, Any] = {"type": "build.failed", "id": "31", "data": {"number": 31}}
        assert (await http.post("/events", json=failed)).json() == {"accepted": 1, "known": 0, "receivers": 1}
        await again(running)
        assert (await http.post("/events", json=failed)).json() == {"accepted": 0, "known": 1, "receivers": 1}
        values = [event["data"]["value"] for event in await read.until(5, "agent.done")]
        assert values[4:] == ["mended 31, of /clients/sender"]
        next_one = {**failed, "id": "32", "data": {"number": 32}}
        assert (await http.post("/events", json=next_one)).json()["receivers"] == 1
        values = [event["data"]["value"] for event in await read.until(6, "agent.done")]
        assert values[4:] == ["mended 31, of /clients/sender", "mended 32, of /clients/sender"]
        news = (await http.post("/tasks", json={**order, "playbook": "Announce", "key": "news"})).json()["task"]
        values = [event["data"]["value"] for event in await read.until(8, "agent.done")]
        assert values[6:] == ["announced", f"mended 33, of /sessions/{news}"]
