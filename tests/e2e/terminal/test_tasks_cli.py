"""Looking after tasks from a terminal, while a gateway runs and while none does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

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
