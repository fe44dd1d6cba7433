"""Other programs with notebooks at a gateway that is killed: nothing is lost, and nothing comes twice."""

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
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.streams.text import TextReceiveStream

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, Room, environment_of, gateway
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"
CLIENT = [sys.executable, str(ROOT / "examples" / "tape_client.py")]
Printed = MemoryObjectReceiveStream[dict[str, Any]]
SCOPES = [f"tapes:{deed}:{name}" for deed in ("read", "write") for name in ("*", "sessions.*")]
TOKEN = "a-token-of-the-writer-in-tests"


def settings(folder: Path, port: int) -> dict[str, str]:
    (folder / "writer").write_text(TOKEN)
    return {
        "PARLEY_WEB__PORT": str(port),
        "PARLEY_CLIENTS__WRITER__TOKEN_FILE": str(folder / "writer"),
        "PARLEY_CLIENTS__WRITER__SCOPES": ",".join([*SCOPES, "content"]),
    }


async def append(folder: Path, port: int, number: int) -> None:
    """Append one entry with the documented client, which repeats it until it is taken."""
    environment = environment_of(folder, {"PARLEY_TOKEN_FILE": str(folder / "writer")})
    command = [*CLIENT, f"http://127.0.0.1:{port}", "append", "plan", json.dumps({"number": number})]
    await anyio.run_process(command, env=environment)


@asynccontextmanager
async def following(folder: Path, port: int) -> AsyncIterator[Printed]:
    """What the documented client prints of a notebook."""
    environment = environment_of(folder, {"PARLEY_TOKEN_FILE": str(folder / "writer")})
    command = [*CLIENT, f"http://127.0.0.1:{port}", "follow", "plan"]
    send, receive = anyio.create_memory_object_stream[dict[str, Any]](100)
    async with send, receive, anyio.create_task_group() as tasks:
        process = await anyio.open_process(command, env=environment, stderr=subprocess.DEVNULL)
        tasks.start_soon(_read, process, send)
        try:
            yield receive
        finally:
            with anyio.CancelScope(shield=True):
                process.kill()
                await process.wait()
                await process.aclose()


async def _read(process: Process, send: MemoryObjectSendStream[dict[str, Any]]) -> None:
    assert process.stdout is not None
    text = ""
    async for piece in TextReceiveStream(process.stdout):
        *lines, text = (text + piece).split("\n")
        for line in lines:
            await send.send(json.loads(line))


async def heard(printed: Printed, count: int) -> list[dict[str, Any]]:
    with anyio.fail_after(SEEN_LIMIT_S):
        return [await printed.receive() for _ in range(count)]


async def again(running: Gateway) -> None:
    running.kill()
    await running.gone()
    await running.start()


async def test_a_notebook_is_written_and_followed_over_kills_and_a_session_is_undone_by_its_journal(
    tmp_path: Path,
) -> None:
    port = free_port()
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        gateway(tmp_path, ERRANDS, settings(tmp_path, port)) as running,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/tape/v1", headers=headers, timeout=60) as http,
    ):
        await append(tmp_path, port, 0)
        async with following(tmp_path, port) as printed:
            assert [entry["payload"] for entry in await heard(printed, 1)] == [{"number": 0}]
            async with anyio.create_task_group() as tasks:
                for number in range(1, 5):
                    tasks.start_soon(append, tmp_path, port, number)
                await again(running)
            entries = await heard(printed, 4)
            assert [entry["id"] for entry in entries] == [2, 3, 4, 5]
            assert sorted(entry["payload"]["number"] for entry in entries) == [1, 2, 3, 4]
            assert (await http.post("/tapes/plan/rollback", json={"to": 2})).json() == {"head": 2, "branch": 1}
            assert await heard(printed, 1) == [{"rollback": 2}]
        await again(running)
        assert [entry["id"] for entry in (await http.get("/tapes/plan/entries")).json()["entries"]] == [1, 2]
        assert (await http.get("/tapes/plan", params={"branch": 0})).json()["branches"][0]["head"] == 5
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            (journal,) = (await http.get("/tapes", params={"kind": "journal"})).json()["tapes"]
            facts = (await http.get(f"/tapes/{journal}/entries", params={"limit": 1000})).json()["entries"]
            assert "hi" in json.dumps(facts)
            asked = {"exchanges": 1, "key": "once"}
            for known in (0, 1):
                answer = await http.post(f"/tapes/{journal}/rollback", json=asked)
                assert (answer.status_code, answer.json()) == (202, {"accepted": 1 - known, "known": known})
            await room.until_that(lambda: bool(room.texts("notice")))
            assert "back to before Ada said “hi”" in room.texts("notice")[-1]
            assert (await http.get(f"/tapes/{journal}")).json()["ended"]
            assert (await http.post(f"/tapes/{journal}/rollback", json={})).status_code == 409


async def test_tapes_are_served_by_a_process_of_their_own_beside_the_gateway(tmp_path: Path) -> None:
    port = free_port()
    own = settings(tmp_path, 0)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        gateway(tmp_path, ERRANDS, own) as running,
        gateway(tmp_path, None, own, options=["--role", "tape", "--port", str(port)]),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as http,
    ):
        await append(tmp_path, port, 1)
        found = (await http.get("/tape/v1/search", params={"q": "message"})).json()
        assert (found["hits"], found["behind"]) == ([], False)
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
        (journal,) = (await http.get("/tape/v1/tapes", params={"kind": "journal"})).json()["tapes"]
        assert (await http.get(f"/tape/v1/tapes/{journal}")).json()["program"] == "errands"
        there = await http.get(f"{running.url}/tape/v1/tapes/plan/entries", headers=headers)
        assert [entry["payload"] for entry in there.json()["entries"]] == [{"number": 1}]
        assert (await http.get("/")).status_code == 404
