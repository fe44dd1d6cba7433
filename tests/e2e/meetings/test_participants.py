"""A participant in a process of its own, with the example: killed and started again, as is the gateway."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process

from tests.e2e.gateway_process import ROOT, Room, environment_of, gateway, parley
from tests.e2e.several_nodes import one_valkey, rooms_of, several_nodes
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

EXAMPLE = ROOT / "examples" / "scout.pb"
SCOUT = ROOT / "examples" / "scout.py"
HELLO = "Name a direction, such as **north**, and I ask the scout."


@asynccontextmanager
async def scout(folder: Path, port: int) -> AsyncIterator[Process]:
    """The example's other process, killed at the end of the block."""
    command = [sys.executable, str(SCOUT), f"ws://127.0.0.1:{port}/participants/scout", str(folder / "token")]
    process = await anyio.open_process(
        command, env=environment_of(folder, {}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.wait()


def said(*answers: str) -> list[str]:
    return [HELLO, *(f"The scout says: {answer}" for answer in answers)]


async def test_nothing_is_lost_when_the_participant_and_the_gateway_are_killed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-of-the-scout-in-tests\n")
    (tmp_path / "parley.toml").write_text(f'[participants.tokens]\nscout = "{tmp_path / "token"}"\n')
    port = free_port()
    settings = {"PARLEY_WEB__PORT": str(port), "PARLEY_LOGS__LEVEL": "debug"}
    async with gateway(tmp_path, EXAMPLE, settings) as running:
        await running.prints(r"remote +Scout: scout, at /participants/scout")
        async with AsyncExitStack() as stack:
            room = Room(await stack.enter_async_context(running.page()))
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            async with scout(tmp_path, port):
                await room.say("north")
                await room.until(*said("to the glacier"))
            await room.say("south")
            await room.say("east")
            await running.prints(r"participant\.posted", times=3)
        running.kill()
        await running.gone()
        async with scout(tmp_path, port), AsyncExitStack() as stack:
            await running.start()
            room = Room(await stack.enter_async_context(running.page()))
            await room.join()
            await room.until(*said("to the glacier", "to the lake", "to the village"))
            running.kill()
            await running.gone()
            await running.start()
            room = Room(await stack.enter_async_context(running.page()))
            await room.join()
            await room.say("west")
            answers = said("to the glacier", "to the lake", "to the village", "nowhere, it is steep")
            await room.until(*answers)


async def test_it_is_reached_from_every_node_wherever_it_is_connected(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-of-the-scout-in-tests\n")
    settings = {"PARLEY_PARTICIPANTS__TOKENS__SCOUT": str(tmp_path / "token")}
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, EXAMPLE, url, ["a", "b"], settings) as nodes,
        AsyncExitStack() as stack,
    ):
        await nodes.balanced("a", "b")
        ports = {name: int(nodes[name].url.rpartition(":")[2]) for name in ("a", "b")}
        older = await stack.enter_async_context(scout(tmp_path, ports["a"]))
        rooms = list(chain(*(await rooms_of(nodes, nodes["a"], stack, 1, HELLO)).values()))
        for room in rooms:
            await room.say("north")
        for room in rooms:
            await room.until(*said("to the glacier"))
        await stack.enter_async_context(scout(tmp_path, ports["b"]))
        with anyio.fail_after(90):
            assert await older.wait() != 0
        for room in rooms:
            await room.say("south")
        for room in rooms:
            await room.until(*said("to the glacier", "to the lake"))


async def test_a_program_whose_agent_nobody_may_play_does_not_start(tmp_path: Path) -> None:
    code, _, errors = await parley(tmp_path, "run", str(EXAMPLE))
    assert code == 2
    assert "Scout is played in another process by scout, who has no token" in errors


async def test_check_says_who_may_play_and_which_agent_nobody_can(tmp_path: Path) -> None:
    settings = tmp_path / "parley.toml"
    settings.write_text(f'[[route]]\nprogram = "{EXAMPLE}"\n')
    code, output, _ = await parley(tmp_path, "check")
    assert code == 1
    assert "Scout is played in another process by scout, who has no token" in output
    (tmp_path / "token").write_text("a-token-of-the-scout-in-tests\n")
    settings.write_text(settings.read_text() + f'[participants.tokens]\nscout = "{tmp_path / "token"}"\n')
    _, output, _ = await parley(tmp_path, "check")
    assert "✓ seats     scout\n" in output
    assert "a-token-of-the-scout" not in output
