"""`parley run`: says where to go, says whether it is ready, and leaves nothing behind when it stops."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.e2e.processes import family, processes, valkey_of
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

HELLO_PROGRAM = ROOT / "examples" / "hello.pb"
TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
LIMIT_S = 60.0


async def asked(running: Gateway, path: str) -> tuple[int, dict[str, object]]:
    async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT_S) as client:
        answer = await client.get(path)
        return answer.status_code, answer.json()


async def begun(running: Gateway, stack: AsyncExitStack, *seen: str) -> Room:
    """A conversation in the lobby, once this can be seen."""
    room = Room(await stack.enter_async_context(running.page()))
    await room.join()
    await room.say("hi")
    await room.until(*seen)
    return room


def left_of(ids: set[int]) -> list[str]:
    return [seen.command for seen in processes() if seen.id in ids]


async def test_it_prints_a_free_port_and_says_that_it_lives_and_is_ready(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, {"PARLEY_WEB__PORT": "0"}, fresh=True) as running:
        assert running.url.startswith("http://127.0.0.1:")
        await running.prints(rf"  state      {tmp_path}\n")
        assert await asked(running, "/healthz") == (200, {"status": "alive"})
        await running.listens_to("web")
        assert await asked(running, "/readyz") == (200, {"status": "ready", "reasons": []})


async def test_it_says_above_its_address_what_cannot_work_in_the_program(tmp_path: Path) -> None:
    program = tmp_path / "game.pb"
    program.write_text(
        "# Game\n## Main\n### Triggers\n- When program starts\n### Steps\n- $hint = Compair()\n- Say hi\n"
    )
    async with gateway(tmp_path, program, fresh=True) as running:
        served = r"game\.pb has 1 error\. It is served, but these steps cannot run\."
        error = r"game\.pb:6:\d+: error: there is no playbook Compair"
        await running.prints(rf"{error}[\s\S]*{served}[\s\S]*{re.escape(running.url)}")


async def test_it_says_which_platform_it_waits_for(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    platform.fail("getMe", "bad_gateway", times=99)
    async with serving(platform) as address:
        environment = {"PARLEY_TELEGRAM__TOKEN": TOKEN, "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot"}
        async with gateway(tmp_path, TELLER, environment, fresh=True) as running:
            await running.prints('"error": "[^"]*502[^"]*".*"Telegram cannot be asked"')
            waiting = {"status": "waiting", "reasons": ["telegram is not connected yet"]}
            assert await asked(running, "/readyz") == (503, waiting)
            assert await asked(running, "/healthz") == (200, {"status": "alive"})


async def test_it_says_which_platform_refuses_its_token(tmp_path: Path) -> None:
    async with serving(TelegramPlatform(token="1:another")) as address:
        environment = {"PARLEY_TELEGRAM__TOKEN": TOKEN, "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot"}
        async with gateway(tmp_path, TELLER, environment, fresh=True) as running:
            await running.prints(r"adapter\.failed")
            status, answer = await asked(running, "/readyz")
            assert status == 503
            (reason,) = json.loads(json.dumps(answer["reasons"]))
            assert reason.startswith("telegram is off: ")
            assert "token" in reason
            assert TOKEN not in reason


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_gateway_valkey_sandbox_and_model_with_exit_code_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    waits = number == signal.SIGTERM  # nobody waits for the second reader, neither at the start nor at the end
    reading = Reply("L2: they are greeted by name", when=" => ", hold_before=waits)
    async with OpenAIServer([reading, Reply("Hello! What is your name?")]) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
            "PARLEY_PROGRAMS__SECOND_READER": "true",
        }
        async with gateway(tmp_path, HELLO_PROGRAM, environment, fresh=True) as running, AsyncExitStack() as stack:
            await begun(running, stack, "Hello! What is your name?")
            if not waits:
                await running.prints(r'"why": "Parley: .*they are greeted by name".*"event": "program.doubted"')
            ids = {seen.id for seen in family(running.process_id)}
            commands = " ".join(left_of(ids))
            assert "valkey-server" in commands
            assert "monty" in commands
            assert "runtime.llm.worker" in commands
            assert await running.stop(number) == 0
            assert left_of(ids) == []
            assert not (tmp_path / "valkey.sock").exists()
            assert "Traceback" not in running.output


async def test_a_signal_ends_it_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, fresh=True) as running, AsyncExitStack() as stack:
        room = await begun(running, stack, "I am the teller.")
        await room.say("slow")
        await room.until_some("Once")
        ids = {seen.id for seen in family(running.process_id)}
        assert await running.stop(signal.SIGINT) == 0
        assert left_of(ids) == []
        assert "Traceback" not in running.output


async def test_a_signal_ends_it_while_valkey_does_not_answer(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, fresh=True) as running, AsyncExitStack() as stack:
        room = await begun(running, stack, "I am the teller.")
        ids = {seen.id for seen in family(running.process_id)}
        os.kill(valkey_of(running.process_id), signal.SIGSTOP)
        await room.say("are you there?")
        assert await running.stop(signal.SIGINT) == 0
        assert left_of(ids) == []


async def test_a_second_signal_ends_it_at_once_though_valkey_does_not_answer(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, fresh=True) as running, AsyncExitStack() as stack:
        await begun(running, stack, "I am the teller.")
        ids = {seen.id for seen in family(running.process_id)}
        handles = [os.pidfd_open(one) for one in ids]
        stopped = valkey_of(running.process_id)
        os.kill(stopped, signal.SIGSTOP)
        os.kill(running.process_id, signal.SIGINT)
        await running.prints("Stopping. Press Ctrl-C again to stop at once.")
        assert await running.stop(signal.SIGINT) == 130
        os.kill(stopped, signal.SIGCONT)
        with anyio.fail_after(LIMIT_S):
            for handle in handles:
                await anyio.wait_readable(handle)
                os.close(handle)
        assert left_of(ids) == []


async def test_a_kill_leaves_no_process_behind(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, fresh=True) as running, AsyncExitStack() as stack:
        await begun(running, stack, "I am the teller.")
        ids = {seen.id for seen in family(running.process_id)}
        handles = [os.pidfd_open(one) for one in ids]
        running.kill()
        with anyio.fail_after(LIMIT_S):
            for handle in handles:
                await anyio.wait_readable(handle)
                os.close(handle)
        assert left_of(ids) == []
