"""Looking after schedules and tasks from a terminal, while a gateway runs and while none does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway, parley
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


ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"


async def listed(directory: Path) -> dict[str, dict[str, Any]]:
    """The tasks by what they do."""
    status, output, errors = await parley(directory, "tasks", "list", "--json")
    assert status == 0, errors
    return {task["does"].partition(".")[2]: task for task in map(json.loads, output.splitlines())}


async def test_tasks_are_listed_read_and_ordered_again(tmp_path: Path) -> None:
    async with gateway(tmp_path, ERRANDS) as running:
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            await room.say("later")
            await room.say("idle")
            await room.until("I am here.", "idle", "Task 1, Runner.Fetch, is completed. Its result: fetched")
            tasks = await listed(tmp_path)
            fetched, idle = tasks["Fetch"]["task"], tasks["Idle"]["task"]
            assert (tasks["Fetch"]["status"], tasks["Idle"]["status"]) == ("completed", "working")
            status, _, error = await parley(tmp_path, "tasks", "result", idle)
            assert (status, error) == (3, f"parley: The task {idle} is not finished: working.\n")
            status, again, name = await parley(tmp_path, "tasks", "retry", fetched)
            assert (status, name) == (0, "It is task 3 of its conversation.\n")
            assert again.strip() != fetched
            await room.until(
                "I am here.",
                "idle",
                "Task 1, Runner.Fetch, is completed. Its result: fetched",
                "Task 3, Runner.Fetch, is completed. Its result: fetched",
            )
        running.kill()
        await running.gone()
    assert await parley(tmp_path, "tasks", "result", again.strip()) == (0, "fetched\n", "")
    status, _, error = await parley(tmp_path, "tasks", "cancel", fetched)
    assert (status, error) == (1, f"parley: The task {fetched} has ended already: completed.\n")
