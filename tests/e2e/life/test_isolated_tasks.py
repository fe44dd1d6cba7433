"""Tasks in processes of their own, which find no secret, before a gateway and processes that are killed.

`PARLEY_TEST_ISOLATION` names another isolation than `process`; what it needs is set as for a gateway, such as
`PARLEY_TASKS__ISOLATION__PODMAN__IMAGE`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, gateway
from tests.e2e.platforms.test_receipts import photo, pictures
from tests.e2e.platforms.test_telegram import settings as on_telegram
from tests.e2e.talks import TelegramTalk, until_begun, until_said
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = ROOT / "tests" / "e2e" / "programs" / "isolated.pb"
SHOWN = ROOT / "tests" / "e2e" / "programs" / "shown.pb"
TOKEN, KEY = "a-token-of-the-asker-in-tests", "the-key-of-the-model"
ISOLATION = os.environ.get("PARLEY_TEST_ISOLATION", "process")
SERVICES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
NEEDED = {
    name: value
    for name, value in os.environ.items()
    if name.startswith("PARLEY_TASKS__ISOLATION__") or name in SERVICES
}
AGENTS = ("gateway.isolation.agent", "-m\0gateway\0agent")
"""What is in the command of a task's process."""


class Orders:
    """A client that orders tasks of a gateway, which may be killed meanwhile."""

    def __init__(self, running: Gateway) -> None:
        self._running = running

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[httpx.AsyncClient]:
        headers = {"authorization": f"Bearer {TOKEN}"}
        url = f"{self._running.url}/bus/v1"
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=SEEN_LIMIT_S) as http:
            yield http

    async def order(self, playbook: str, **more: Any) -> str:
        """Order a task; its id."""
        async with self._http() as http:
            what = {"program": "isolated", "agent": "Digger", "playbook": playbook, "key": playbook, **more}
            answer = await http.post("/tasks", json=what)
            assert answer.status_code == 201, answer.text
            return str(answer.json()["task"])

    async def result(self, task: str) -> dict[str, Any]:
        """What came of it, or what it asks."""
        async with self._http() as http:
            answer = await http.get(f"/tasks/{task}/result", params={"wait_s": 60})
            found: dict[str, Any] = answer.json()
            return found

    async def post(self, task: str, act: str, body: dict[str, Any] | None = None) -> None:
        """Say something to a task, or cancel it."""
        async with self._http() as http:
            (await http.post(f"/tasks/{task}/{act}", json=body)).raise_for_status()


def settings(folder: Path, **more: str) -> dict[str, str]:
    (folder / "asker").write_text(TOKEN)
    return {
        "PARLEY_TASKS__ISOLATION__DEFAULT": ISOLATION,
        **NEEDED,
        "PARLEY_CLIENTS__ASKER__TOKEN_FILE": str(folder / "asker"),
        "PARLEY_CLIENTS__ASKER__SCOPES": "tasks:write:isolated,tasks:read:isolated",
        **more,
    }


def processes_of(running: Gateway) -> list[int]:
    """The processes of tasks that a gateway has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                words = (entry / "cmdline").read_text()
            except OSError:
                continue
            ours = int(parent) == running.process_id if ISOLATION == "process" else not words.startswith("systemd-run")
            if ours and any(part in words for part in AGENTS):
                found.append(int(entry.name))
    return found


async def ended(processes: list[int]) -> None:
    """Return when none of them lives."""
    for process in processes:
        try:
            handle = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        with anyio.fail_after(SEEN_LIMIT_S):
            await anyio.wait_readable(handle)
        os.close(handle)


async def said(running: Gateway, event: str, times: int = 1) -> None:
    await running.prints(f'"event": "{event}"', times)


async def test_a_task_s_code_finds_no_secret_and_asks_the_model_without_a_key(tmp_path: Path) -> None:
    async with OpenAIServer([Reply("Hello, world.")]) as model:
        port = int(model.base_url.rpartition(":")[2].partition("/")[0])
        more = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": KEY,
        }
        async with gateway(tmp_path, PROGRAM, settings(tmp_path, **more)) as running:
            orders = Orders(running)
            dug = await orders.order("Dig", arguments={"folder": str(tmp_path), "port": port})
            value = (await orders.result(dug))["value"]
            for secret in (KEY, TOKEN, "PARLEY_", str(tmp_path), "redis"):
                assert secret not in value["found"]
            assert value["here"] == []
            assert not [what for what in value["refused"] if what.endswith("open")]
            if ISOLATION == "process":
                others = ("web-secret", "asker", "unix", "udp", "network", "signal")
                wanted = [f"{what}: PermissionError" for what in (*("environ", "cmdline") * 2, *others)]
                assert sorted(value["refused"]) == sorted(wanted)
            thought = await orders.result(await orders.order("Think", limits={"tokens": 120}))
            assert (thought["status"], thought["value"]) == ("completed", "Hello, world.")
            assert model.headers[0]["authorization"] == f"Bearer {KEY}"
            below = await orders.order("Delegate")
            asks = await orders.result(below)
            assert asks["question"]["text"] == "Which way?"
            await orders.post(below, "messages", {"id": "1", "text": "left", "ask": asks["question"]["ask"]})
            assert (await orders.result(below))["value"] == "left"


async def test_kills_of_the_process_and_of_the_gateway_lose_and_double_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM, settings(tmp_path)) as running:
        orders = Orders(running)
        fetched = await orders.order("Fetch")
        await said(running, "page.finished")
        (process,) = processes_of(running)
        os.kill(process, signal.SIGKILL)
        await said(running, "task.process_died")
        await said(running, "session.restored")
        left = processes_of(running)
        assert len(left) == 1
        running.kill()
        await running.gone()
        await ended(left)
        await running.start()
        found = await orders.result(fetched)
        assert (found["status"], found["value"]) == ("completed", "fetched")
        idle = await orders.order("Idle")
        await said(running, "playbook.started")
        await orders.post(idle, "cancel")
        assert (await orders.result(idle))["status"] == "canceled"
        await ended(processes_of(running))


async def until_answered(talk: TelegramTalk, texts: int) -> None:
    """Return when there are more texts than so many."""
    await talk.until_that(lambda: len(talk.texts()) > texts)


WEIGHT = """
import os

from parley.ext import Extension

extension = Extension("weight", api=1)


@extension.call("Weigh")
async def weigh(what: str) -> str:
    \"\"\"Says what something weighs.\"\"\"
    return f"{what}: {os.environ['THE_SCALES']}"
"""


async def test_a_task_is_shown_a_picture_recalls_and_has_an_extension_called_which_knows_more(tmp_path: Path) -> None:
    def answer(request: Mapping[str, Any]) -> Reply:
        return Reply("A receipt." if pictures(request) == [(120, 200)] else "I see nothing.")

    (tmp_path / "data").mkdir()
    (tmp_path / "weight.py").write_text(WEIGHT)
    platform = TelegramPlatform()
    talk = TelegramTalk(platform)
    async with serving(platform) as address, OpenAIServer(answer) as model:
        more = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_EXTENSIONS__MODULES": "weight",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
            "THE_SCALES": "500 g",
        }
        environment = settings(tmp_path, **on_telegram(address, PARLEY_TELEGRAM__ACCESS="open", **more))
        async with gateway(tmp_path / "data", SHOWN, environment, fresh=True):
            await talk.say("hi")
            await until_begun(talk, "Task 1 (Clerk.Work) asks: A photo?")
            while not any("waiting for an answer" in text for text in talk.texts()):  # its orderer has heard of it
                await talk.say("/tasks")
                await until_answered(talk, len(talk.texts()))
            platform.files["photo"] = photo(120, 200)
            platform.say(None, photo=[{"file_id": "photo", "width": 120, "height": 200}], caption="Here.")
            await until_said(talk, "[['likes rye'], 'bread: 500 g']")
            assert "A receipt." in talk.texts()
