"""`parley run --role standby`: what dies is started again, and nothing outlives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import SEEN_LIMIT_S, STANDBY, Gateway, Room, gateway, parley
from tests.e2e.processes import family, processes
from tests.e2e.tellers import HELLO, TELLER
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


def settings(**more: str) -> dict[str, str]:
    return {
        "PARLEY_WEB__PORT": str(free_port()),
        "PARLEY_AGENTS__PROCESSES": "1",
        "PARLEY_LOGS__FORMAT": "json",
        "PARLEY_NODES__LEASE_S": "1",
        **more,
    }


def process_of(standby: Gateway, role: str) -> int:
    """The process of a role."""
    (found,) = [one.id for one in family(standby.process_id) if f"--role {role}" in one.command]
    return found


def began_with(process: int) -> str:
    """The environment with which a process was started."""
    return Path(f"/proc/{process}/environ").read_text()


async def all_gone(ids: Sequence[int], handles: Sequence[int]) -> None:
    """Return when these processes have ended."""
    with anyio.fail_after(SEEN_LIMIT_S):
        for handle in handles:
            await anyio.wait_readable(handle)
            os.close(handle)
    assert [seen.command for seen in processes() if seen.id in ids] == []


async def test_what_is_killed_comes_back_and_nothing_outlives_a_kill_of_the_standby(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, settings(), options=STANDBY) as standby:
        await standby.prints(r"agents-1 +health")
        async with standby.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            os.kill(process_of(standby, "agents"), signal.SIGKILL)
            await room.say("while it is away")
            await room.until(HELLO, "You said: while it is away")
        await standby.prints(r"agents-1 has died \(signal 9\). It is started again in 0.5 s.")
        os.kill(process_of(standby, "front"), signal.SIGKILL)
        await standby.prints(r"front +web chat", times=2)
        async with standby.page() as page:
            room = Room(page)
            await room.join()
            await room.say("and now?")
            await room.until(HELLO, "You said: while it is away", "You said: and now?")
        ids = [seen.id for seen in family(standby.process_id)]
        handles = [os.pidfd_open(one) for one in ids]
        standby.kill()
        await all_gone(ids, handles)


async def test_ctrl_c_ends_all_of_them_and_the_front_never_had_a_providers_key(tmp_path: Path) -> None:
    key = "sk-the-key-of-a-provider"
    async with gateway(tmp_path, TELLER, settings(OPENAI_API_KEY=key), options=STANDBY) as standby:
        await standby.prints(r"agents-1 +health")
        ours = [standby.process_id, process_of(standby, "front"), process_of(standby, "agents")]
        environments = [began_with(one) for one in ours]
        assert [key in environment for environment in environments] == [False, False, False]
        assert ["_PARLEY_HIDDEN_KEYS" in environment for environment in environments] == [True, False, True]
        ids = [seen.id for seen in family(standby.process_id)]
        handles = [os.pidfd_open(one) for one in ids]
        assert await standby.stop(signal.SIGINT) == 0
        await all_gone(ids, handles)
        assert "has died" not in standby.output


async def test_a_program_that_is_wrong_ends_it(tmp_path: Path) -> None:
    (tmp_path / "broken.pb").write_text("# Greeter\n\n## Main(\n")
    code, _, errors = await parley(tmp_path, "run", *STANDBY, "broken.pb", **settings())
    assert code == 2
    assert "broken.pb:3:8: error: " in errors
    assert "cannot start, for the reason above." in errors
