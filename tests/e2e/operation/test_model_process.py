"""The process that asks the model, seen from a chat: it may die, and nobody notices."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.e2e.processes import family
from tests.fakes.models.openai_server import OpenAIServer, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

HELLO_PROGRAM = ROOT / "examples" / "hello.pb"
HELLO = "Hello! What is your name? I would like to know it before we go on."
LIMIT_S = 60.0
KEY = "sk-of-the-provider"


@asynccontextmanager
async def greeting(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[tuple[Gateway, Room]]:
    """A gateway in whose lobby somebody has come in."""
    environment = {
        "PARLEY_MODEL": "openai/test",
        "PARLEY_MODEL_BASE_URL": model.base_url,
        "PARLEY_MODEL_API_KEY": KEY,
    }
    async with gateway(tmp_path, HELLO_PROGRAM, environment) as running, running.page() as page:
        room = Room(page)
        await room.join()
        await room.say("hi")
        yield running, room


def model_process_of(running: Gateway) -> int:
    (found,) = [one.id for one in family(running.process_id) if "runtime.llm.worker" in one.command]
    return found


async def test_a_model_process_that_is_killed_in_the_middle_of_an_answer_is_not_noticed(tmp_path: Path) -> None:
    replies = [Reply(HELLO, hold_after_chars=20, chunk_chars=10), Reply(HELLO)]
    async with OpenAIServer(replies) as model, greeting(tmp_path, model) as (running, room):
        await room.until_some("Hello!")
        os.kill(model_process_of(running), signal.SIGKILL)
        await room.until(HELLO)
        assert room.texts("notice") == []
        await running.prints(r"signal 9.*model\.lost|model\.lost.*signal 9")


async def test_killing_the_gateway_ends_the_model_process(tmp_path: Path) -> None:
    replies = [Reply(HELLO, hold_after_chars=20, chunk_chars=10)]
    async with OpenAIServer(replies) as model, greeting(tmp_path, model) as (running, room):
        await room.until_some("Hello!")
        handle = os.pidfd_open(model_process_of(running))
        running.kill()
        with anyio.fail_after(LIMIT_S):
            await anyio.wait_readable(handle)
        os.close(handle)


async def test_the_gateway_is_ready_with_a_model_that_answers_from_a_small_process(tmp_path: Path) -> None:
    async with OpenAIServer([Reply(HELLO)]) as model, greeting(tmp_path, model) as (running, room):
        await room.until(HELLO)
        async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT_S) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready", "reasons": []}
        about = Path(f"/proc/{running.process_id}")
        resident = re.search(r"VmRSS:\s+(\d+) kB", (about / "status").read_text())
        assert resident is not None
        assert int(resident[1]) / 1024 < 120  # with litellm in it: 220
