"""A front that takes messages on before any agent lives, with bus and tape beside it: agents, tasks, a tape, a schedule
and a failure, while what serves them is killed.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, STANDBY, Gateway, Room, gateway, parley
from tests.e2e.operation.test_standby import process_of
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

WORKDAY = ROOT / "tests" / "e2e" / "programs" / "workday.pb"
TOKEN = "a-token-of-the-watcher-in-tests"
SCOPES = "events:read:>,content,tapes:read:*,tapes:write:*,tapes:read:sessions.*,tapes:write:sessions.*"
MORNING = """
[[cron]]
name = "morning"
schedule = "0 0 1 1 *"
platform = "web"
chat = "lobby"
text = "study bread"
"""
HEADERS = {"authorization": f"Bearer {TOKEN}"}


class Watcher:
    """A client that reads all events of the bus."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._from = {"after": "oldest"}
        self.events: list[dict[str, Any]] = []

    async def until(self, *types: str) -> None:
        """Return when there was an event of each type."""
        with anyio.fail_after(SEEN_LIMIT_S):
            while not set(types) <= {event["type"] for event in self.events}:
                answer = (await self._http.get("/bus/v1/events", params={**self._from, "wait_s": "20"})).json()
                self.events += answer["events"]
                self._from = {"after": answer["cursor"]}


async def test_a_day_with_standby_bus_and_tape(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text(MORNING)
    (tmp_path / "token").write_text(TOKEN)
    bus, tape = free_port(), free_port()
    own = {
        "PARLEY_WEB__PORT": str(free_port()),
        "PARLEY_AGENTS__PROCESSES": "1",
        "PARLEY_NODES__LEASE_S": "1",
        "PARLEY_CLIENTS__WATCHER__TOKEN_FILE": str(tmp_path / "token"),
        "PARLEY_CLIENTS__WATCHER__SCOPES": SCOPES,
    }
    async with (
        gateway(tmp_path, WORKDAY, own, options=STANDBY) as standby,
        gateway(tmp_path, WORKDAY, own, options=["--role", "bus", "--port", str(bus)]),
        gateway(tmp_path, None, own, options=["--role", "tape", "--port", str(tape)]),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{bus}", headers=HEADERS, timeout=60) as on_bus,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{tape}", headers=HEADERS, timeout=60) as on_tape,
        standby.page() as page,
    ):
        room, watcher = Room(page), Watcher(on_bus)
        await standby.prints(r"agents-1 +health")
        await room.join()
        await no_agents(standby)
        await room.say("hello")
        await room.until("The desk is open.")
        await room.say("study salt pepper")
        await room.until("The desk is open.", "2 clerks are at it.")
        await no_agents(standby)
        studied = ["The desk is open.", "2 clerks are at it.", "all about salt; all about pepper"]
        await room.until(*studied)
        await look_at_tapes(on_tape)
        assert (await parley(tmp_path, "schedule", "run", "morning"))[0] == 0
        await room.until(*studied, "1 clerks are at it.", "all about bread")
        await room.say("break")
        await watcher.until("agent.error", "debug.report", "cron.trigger")
    assert {event["type"] for event in watcher.events} >= {"human.message", "agent.spawn", "agent.done"}
    named = [(event["source"], event["id"]) for event in watcher.events]
    assert len(named) == len(set(named))


async def no_agents(standby: Gateway) -> None:
    """Kill the only process that serves conversations; it comes back by itself after a moment."""
    agents = process_of(standby, "agents")
    handle = os.pidfd_open(agents)
    try:
        os.kill(agents, signal.SIGKILL)
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def look_at_tapes(http: httpx.AsyncClient) -> None:
    """The conversation's journal tells of its tasks; a checkpoint of a notebook is a fork, from which it goes back."""
    journals = (await http.get("/tape/v1/tapes", params={"kind": "journal"})).json()["tapes"]
    kinds = [await kinds_on(http, journal) for journal in journals]
    (desk,) = [each for each in kinds if "spawn" in each]
    assert (desk.count("spawn"), desk.count("task_over")) == (2, 2)
    assert [each.count("order_over") for each in kinds if each is not desk] == [1, 1]
    notes = {"entries": [{"kind": "note", "payload": {"number": number}} for number in (1, 2)]}
    assert (await http.post("/tape/v1/tapes/diary/entries", json=notes)).json() == {"first": 1, "last": 2}
    assert (await http.post("/tape/v1/tapes/diary/fork", json={"name": "checkpoint", "at": 2})).status_code == 201
    assert (await http.post("/tape/v1/tapes/diary/rollback", json={"to": 1})).is_success
    heads = [(await http.get(f"/tape/v1/tapes/{name}")).json()["head"] for name in ("diary", "checkpoint")]
    assert heads == [1, 2]


async def kinds_on(http: httpx.AsyncClient, tape: str) -> list[str]:
    """The kinds of all entries of a tape."""
    answer = await http.get(f"/tape/v1/tapes/{tape}/entries", params={"limit": 1000})
    return [entry["kind"] for entry in answer.json()["entries"]]
