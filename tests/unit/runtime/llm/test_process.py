"""The model's process: it is started when it is needed, started again when it dies, and never outlives the gateway."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.settings.tree import model_environment
from runtime.core.clock import SystemClock
from runtime.core.errors import LLMUnavailable
from runtime.events.happening import Happening
from runtime.llm.answering import AnsweringClient
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions
from runtime.llm.process import MAX_PIECE_CHARS, ModelProcess
from tests.fakes.models.openai_server import OpenAIServer, Reply

REQUEST = CompletionRequest((ChatMessage("user", "go"),))
KEY = "sk-of-the-provider"


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as started:
        yield started


class Events:
    """What the process tells."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._changed = anyio.Event()

    def __call__(self, what: Happening) -> None:
        self.heard.append((what.name, what.data()))
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, *names: str) -> None:
        while [name for name, _ in self.heard] != list(names):
            await self._changed.wait()


@asynccontextmanager
async def running(server: OpenAIServer, events: Events) -> AsyncIterator[tuple[ModelProcess, AnsweringClient]]:
    options = ModelOptions("openai/test", base_url=server.base_url, api_key=KEY)
    async with ModelProcess([options], model_environment(), SystemClock(), events) as process:
        yield process, AnsweringClient(process.provider(), options, SystemClock())


async def asked(client: AnsweringClient, into: list[str]) -> None:
    async with client.stream(REQUEST) as completion:
        into.extend([piece async for piece in completion])


async def ended(process_id: int) -> None:
    """Return when a process that is not our child is gone."""
    try:
        handle = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def test_there_is_no_process_before_somebody_wants_it(server: OpenAIServer) -> None:
    async with running(server, Events()) as (process, _):
        assert process.process_id is None
        await process.warm_up()
        assert process.process_id is not None


async def test_a_model_whose_name_says_no_provider_is_told_of_when_the_process_is_ready() -> None:
    events = Events()
    models = [ModelOptions(name) for name in ("opnai/gpt-4", "openai/gpt-4.1-mini", "qwen-of-mine")]
    async with ModelProcess(models, model_environment(), SystemClock(), events) as process:
        await process.warm_up()
        await events.until("model.ready", "model.unknown", "model.unknown")
    assert [told["model"] for _, told in events.heard[1:]] == ["opnai/gpt-4", "qwen-of-mine"]


async def test_a_process_that_is_killed_before_the_first_piece_is_replaced_and_the_question_asked_again(
    server: OpenAIServer,
) -> None:
    server.add(Reply("never seen", hold_before=True), Reply("at last"))
    events, heard = Events(), list[str]()
    async with running(server, events) as (process, client), anyio.create_task_group() as tasks:
        tasks.start_soon(asked, client, heard)
        await events.until("model.ready")
        await server.until(lambda: server.held == 1)
        os.kill(process.process_id or 0, signal.SIGKILL)
        await events.until("model.ready", "model.lost", "model.ready")
    assert "".join(heard) == "at last"
    assert events.heard[1][1]["reason"] == "signal 9"


async def test_an_answer_that_a_death_cuts_off_fails_after_its_pieces_and_the_next_one_comes(
    server: OpenAIServer,
) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6), Reply("whole"))
    heard: list[str] = []
    async with running(server, Events()) as (process, client):

        async def cut_off() -> None:
            async with client.stream(REQUEST) as completion:
                async for piece in completion:
                    heard.append(piece)
                    os.kill(process.process_id or 0, signal.SIGKILL)

        with pytest.raises(LLMUnavailable, match=r"process has ended \(signal 9\)"):
            await cut_off()
        await asked(client, heard)
    assert heard == ["first ", "whole"]


async def test_what_came_while_nobody_took_it_is_taken_in_bounded_pieces(server: OpenAIServer) -> None:
    text = "".join(f"{number} " for number in range(10_000))
    server.add(Reply(text, chunk_chars=len(text)))
    heard: list[str] = []
    async with running(server, Events()) as (_, client):
        await asked(client, heard)
    assert "".join(heard) == text
    assert max(map(len, heard)) <= MAX_PIECE_CHARS


async def test_a_process_that_cannot_start_says_why(server: OpenAIServer, tmp_path: Path) -> None:
    (tmp_path / "aiohttp.py").write_text("raise ImportError('this is not aiohttp')")
    options = ModelOptions("openai/test", base_url=server.base_url, max_retries=0)
    environment = {**model_environment(), "PYTHONPATH": str(tmp_path)}
    async with ModelProcess([options], environment, SystemClock()) as process:
        with pytest.raises(LLMUnavailable, match="exit code 1: ImportError: this is not aiohttp"):
            await asked(AnsweringClient(process.provider(), options, SystemClock()), [])


async def test_the_process_ends_with_the_block(server: OpenAIServer) -> None:
    async with running(server, Events()) as (process, _):
        await process.warm_up()
        process_id = process.process_id or 0
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


async def test_leaving_the_block_ends_answers_that_are_being_read(server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with running(server, Events()) as (_, client), client.stream(REQUEST) as completion:
        assert await anext(aiter(completion)) == "first "
    await server.until(lambda: server.disconnects == 1)


async def test_neither_its_command_nor_its_environment_show_the_key(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_MODEL_API_KEY", KEY)
    monkeypatch.setenv("PARLEY_TELEGRAM__TOKEN", "12345:of-the-bot")
    server.add(Reply("hi"))
    heard: list[str] = []
    async with running(server, Events()) as (process, client):
        await asked(client, heard)
        about = Path(f"/proc/{process.process_id}")
        seen = (about / "cmdline").read_bytes() + (about / "environ").read_bytes()
    assert heard == ["hi"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in seen
    assert b"of-the-bot" not in seen
    assert b"PATH=" in seen


async def test_a_key_in_a_file_is_read_by_the_process_each_time_it_starts(server: OpenAIServer, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    server.add(Reply("hi"), Reply("hi again"))
    options = ModelOptions("openai/test", base_url=server.base_url, api_key_file=str(tmp_path / "key"))
    events, heard = Events(), list[str]()
    async with ModelProcess([options], model_environment(), SystemClock(), events) as process:
        client = AnsweringClient(process.provider(), options, SystemClock())
        await asked(client, heard)
        (tmp_path / "key").write_text("sk-another")
        os.kill(process.process_id or 0, signal.SIGKILL)
        await events.until("model.ready", "model.lost", "model.ready")
        await asked(client, heard)
    assert [headers["authorization"] for headers in server.headers] == [f"Bearer {KEY}", "Bearer sk-another"]


GATEWAY = """
import json, os, sys
import anyio
from runtime.core.clock import SystemClock
from runtime.llm.client import ModelOptions
from runtime.llm.process import MAX_PIECE_CHARS, ModelProcess

async def main():
    options = ModelOptions(*json.loads(sys.argv[1]))
    async with ModelProcess([options], dict(os.environ), SystemClock()) as process:
        task = anyio.create_task_group()
        async with task:
            task.start_soon(process.warm_up)
            while process.process_id is None:
                await anyio.lowlevel.checkpoint()
            print(process.process_id, flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("name", ["openai/test", "custom_openai/test"])
async def test_killing_the_gateway_ends_the_process_also_while_it_imports(server: OpenAIServer, name: str) -> None:
    command = [sys.executable, "-c", GATEWAY, json.dumps([name, server.base_url])]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as gateway:
        assert gateway.stdout is not None
        process_id = int(await gateway.stdout.receive())
        gateway.kill()
        await ended(process_id)


async def test_the_gateway_has_no_library_of_a_provider() -> None:
    code = (
        "import sys, gateway.assembly.app, gateway.assembly.parts, runtime.llm.process, runtime.llm.answering; "
        "print(sorted({'litellm', 'openai', 'tiktoken'} & set(sys.modules)))"
    )
    done = await anyio.run_process([sys.executable, "-c", code])
    assert done.stdout.decode().strip() == "[]"
