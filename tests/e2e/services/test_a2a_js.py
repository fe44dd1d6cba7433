"""The official A2A client in JavaScript at a gateway, over a kill. It is installed by scripts/install-test-tools.sh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.e2e.gateway_process import gateway
from tests.e2e.services.test_a2a import ASKS, DONE, PARCELS, again, settings
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

FOLDER = Path(__file__).parent / "a2a_js"


async def learned(port: int, binding: str, token: Path, *mode: str) -> list[Any]:
    """What the client prints."""
    run = await anyio.run_process(
        ["node", "client.mjs", str(port), binding, str(token), *mode], cwd=FOLDER, check=False
    )
    assert run.returncode == 0, run.stderr.decode()
    return [json.loads(line) for line in run.stdout.splitlines()]


async def test_the_client_in_javascript_orders_and_answers_over_a_kill(tmp_path: Path) -> None:
    port, token, asked = free_port(), tmp_path / "partner", dict[str, str]()
    async with gateway(tmp_path, PARCELS, settings(tmp_path, port)) as running:
        for binding in ("JSONRPC", "HTTP+JSON"):
            came = await learned(port, binding, token, "order")
            assert [text for one in came for text in one.get("said", [])] == [
                "I fetch a box.",
                "I bring a box.",
                "I have it.",
                "Where does it go?",
            ]
            assert [one["result"] for one in came if "result" in one] == [[{"brought": ["a box"]}]]
            assert came[-1]["state"] == ASKS
            asked[binding] = [one["task"] for one in came if "task" in one][-1]
        await again(running)
        for binding, task in asked.items():
            first, *rest = await learned(port, binding, token, "answer", task)
            assert first == {"asks": ["Where does it go?"], "history": ["I have it."]}
            assert [text for one in rest for text in one.get("said", [])] == ["I go left."]
            assert [one["result"] for one in rest if "result" in one] == [["it went left"]]
            assert rest[-1]["state"] == DONE
