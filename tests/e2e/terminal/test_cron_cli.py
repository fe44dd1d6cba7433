"""Looking after schedules from a terminal, while a gateway runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.gateway_process import Room, gateway, parley
from tests.e2e.tellers import HELLO, TELLER

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

YEARLY = """
[[cron]]
name = "new-year"
schedule = "0 0 1 1 *"
platform = "web"
chat = "lobby"
text = "hi"
"""


async def test_a_schedule_is_run_now_by_the_gateways_own_program_and_is_paused(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text(YEARLY)
    async with gateway(tmp_path, TELLER) as running, running.page() as page:
        room = Room(page)
        await room.join()
        status, output, errors = await parley(tmp_path, "schedule", "run", "new-year")
        assert (status, output) == (0, "new-year runs now. parley schedule runs new-year shows how it ends.\n"), errors
        await room.until(HELLO)
        _, sessions, _ = await parley(tmp_path, "sessions", "list", "--json")
        assert [json.loads(line)["program"] for line in sessions.splitlines()] == ["teller"]
        _, runs, _ = await parley(tmp_path, "schedule", "runs", "new-year", "--json")
        assert len(runs.splitlines()) == 1
        assert (await parley(tmp_path, "schedule", "pause", "new-year"))[0] == 0
        _, listed, _ = await parley(tmp_path, "schedule", "list", "--json")
        entry = json.loads(listed)
        assert (entry["name"], entry["paused"], bool(entry["last"])) == ("new-year", True, True)
        status, _, error = await parley(tmp_path, "schedule", "resume", "no-such")
        assert (status, error) == (2, "parley: There is no schedule no-such; see parley schedule list.\n")
