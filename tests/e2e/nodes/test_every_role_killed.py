"""A front, an agent node, the bus and the tape service, each a process: killed in many orders, nothing is lost."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import permutations
from pathlib import Path

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import Gateway, Room, gateway
from tests.e2e.services.test_bus import ERRANDS, TOKENS, reading, send
from tests.e2e.services.test_bus import settings as bus_clients
from tests.e2e.services.test_tapes import TOKEN as WRITER
from tests.e2e.services.test_tapes import append
from tests.e2e.services.test_tapes import settings as tape_clients
from tests.e2e.several_nodes import one_valkey
from tests.fakes.servers.ports import free_port
from tests.sampling import sample

ROLES = ("front", "agents", "bus", "tape")
ALL = tuple(permutations(ROLES))
ORDERS = ALL if sample().is_whole else random.Random(7).sample(ALL, 1)
"""One of the 24 orders, because one costs as much as eight gateways; all of them in whole sweeps."""

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300 * len(ORDERS))]


@asynccontextmanager
async def processes(folder: Path, ports: dict[str, int]) -> AsyncIterator[dict[str, Gateway]]:
    """One process for each role, over one database."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(one_valkey())
        common = {**bus_clients(folder, 0), **tape_clients(folder, 0), "PARLEY_REDIS_URL": url}
        made: dict[str, Gateway] = {}
        for role in ROLES:
            (folder / role).mkdir()
            own = {**common, "PARLEY_WEB__PORT": str(ports[role])}
            if role in ("bus", "tape"):
                options = ["--port", str(ports[role])]
                program = ERRANDS if role == "bus" else None
                begun = gateway(folder / role, program, own, options=options, command=role)
            else:
                begun = gateway(folder / role, ERRANDS, {**own, "PARLEY_NODES__ROLE": role})
            made[role] = await stack.enter_async_context(begun)
        yield made


async def killed(running: dict[str, Gateway], order: Sequence[str]) -> None:
    """All of them are killed, one after the other, and begin again in the same order."""
    for role in order:
        running[role].kill()
        await running[role].gone()
    for role in order:
        await running[role].start()


async def test_in_whichever_order_all_are_killed_nothing_is_lost_and_clients_go_on(tmp_path: Path) -> None:
    ports = {role: free_port() for role in ROLES}
    bus, tape = (f"http://127.0.0.1:{ports[role]}" for role in ("bus", "tape"))
    sender = {"authorization": f"Bearer {TOKENS['sender']}"}
    order = {"program": "errands", "agent": "Runner", "playbook": "Fetch"}
    async with (
        processes(tmp_path, ports) as running,
        reading("python", tmp_path, ports["bus"]) as read,
        httpx.AsyncClient(base_url=bus, headers=sender, timeout=60, trust_env=False) as http,
    ):
        for number, roles in enumerate(ORDERS, 1):
            task = (await http.post("/bus/v1/tasks", json={**order, "key": str(number)})).json()["task"]
            async with running["front"].page() as page:
                room = Room(page)
                await room.join()
                said = await room.say(f"word {number}")
                await page.until("taken", id=said)  # until then a page says it again
            async with anyio.create_task_group() as clients:
                clients.start_soon(send, tmp_path, ports["bus"], number)
                clients.start_soon(append, tmp_path, ports["tape"], number)
                await killed(running, roles)
            again = await http.post("/bus/v1/tasks", json={**order, "key": str(number)})
            assert (again.status_code, again.json()) == (200, {"task": task})
            result = await http.get(f"/bus/v1/tasks/{task}/result", params={"wait_s": 60})
            assert result.json() == {"task": task, "status": "completed", "value": "fetched"}, roles
            sent = await read.until(number, "build.done")
            assert [event["data"]["number"] for event in sent] == list(range(1, number + 1)), roles
        async with running["front"].page() as page:
            room = Room(page)
            await room.join()
            answers = ["I am here.", *(f"word {number}" for number in range(2, len(ORDERS) + 1))]
            await room.until(*answers)
        done = await read.until(len(ORDERS), "agent.done")
        assert [event["data"]["value"] for event in done] == ["fetched"] * len(ORDERS)
        ids = [(event["source"], event["id"]) for event in read.events]
        assert len(ids) == len(set(ids))
        writer = {"authorization": f"Bearer {WRITER}"}
        async with httpx.AsyncClient(base_url=tape, headers=writer, trust_env=False) as tapes:
            entries = (await tapes.get("/tape/v1/tapes/plan/entries")).json()["entries"]
        assert [entry["payload"]["number"] for entry in entries] == list(range(1, len(ORDERS) + 1))
