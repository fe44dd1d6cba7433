"""Remote agents of the whole gateway: found, shown, called, and what kill -9 in the middle of a call comes to."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley
from tests.fakes.people.remote_stand import served_by
from tests.fakes.protocols.mcp_server import Ledger

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240), pytest.mark.usefixtures("warm_servers")]

EXAMPLE = ROOT / "examples" / "weather.pb"
ASK = "Name a city, such as **Oslo**, and I ask the weather server about it."
PROGRAM = """\
# Shop

```python
@playbook(triggers=["When program starts"])
async def Begin():
    await Say("user", "Open.")
    await Answer()


@playbook
async def Answer():
    for message in await WaitForMessage("user"):
        call = Bank.transfer() if message["text"] == "transfer" else Bank.pay()
        try:
            await Say("user", await call)
        except OutcomeUnknown:
            await Say("user", "I do not know whether it was paid.")
    return Again()
```

# Bank:MCP
remote:
  type: mcp
  {bank}
  env: [PYTHONPATH]
"""


def shop(tmp_path: Path) -> Path:
    program = tmp_path / "shop.pb"
    program.write_text(PROGRAM.format(bank=served_by(tmp_path / "ledger")))
    return program


async def ended(process_id: int) -> None:
    """Return when the process has ended."""
    try:
        handle = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    try:
        with anyio.fail_after(90):
            await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def room_of(running: Gateway, stack: AsyncExitStack) -> Room:
    room = Room(await stack.enter_async_context(running.page()))
    await room.join()
    return room


async def test_the_example_asks_its_server_and_says_at_start_where_it_is(tmp_path: Path) -> None:
    async with gateway(tmp_path, EXAMPLE) as running, AsyncExitStack() as stack:
        await running.prints(r"remote +Weather: stdio weather_server\.py")
        room = await room_of(running, stack)
        await room.say("hi")
        await room.until(ASK)
        await room.say("oslo")
        await room.until(ASK, "Oslo in the next days: snow, snow, clear.")
        await room.say("Atlantis")
        await room.until(
            ASK,
            "Oslo in the next days: snow, snow, clear.",
            "The server knows nothing about Atlantis. Try Oslo, Rome or Lima.",
        )


@pytest.mark.parametrize(
    ("said", "answer", "calls"), [("transfer", "transfer done", 2), ("pay", "I do not know whether it was paid.", 1)]
)
async def test_a_gateway_killed_in_the_middle_of_a_call_repeats_it_only_where_that_does_no_harm(
    said: str, answer: str, calls: int, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    async with gateway(tmp_path, shop(tmp_path), {"PARLEY_LOGS__LEVEL": "debug"}) as running:
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.say("hi")
            await room.until("Open.")
            await room.say(said)
            await running.prints("remote.progressed")
        server = ledger.pid
        running.kill()
        await running.gone()
        await ended(server)
        await running.start()
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.until("Open.", answer)
    keys = ledger.keys(said)
    assert len(keys) == calls
    assert len(set(keys)) == 1


async def test_check_lists_servers_with_their_tools_and_says_what_is_missing(tmp_path: Path) -> None:
    settings = tmp_path / "parley.toml"
    settings.write_text(f'[[route]]\nprogram = "{EXAMPLE}"\n')
    _, output, _ = await parley(tmp_path, "check")
    assert "✓ remote    Weather (stdio weather_server.py): forecast\n" in output
    program = tmp_path / "stars.pb"
    program.write_text(
        EXAMPLE.read_text()
        .replace("url: weather_server.py", "command: uvx\n  env: [STARS_KEY]")
        .replace("Weather", "Stars")
    )
    settings.write_text(f'[[route]]\nprogram = "{program}"\n')
    code, output, _ = await parley(tmp_path, "check")
    assert "✗ remote    Stars (stdio uvx): STARS_KEY is not set; put it into the environment or .env" in output
    assert code == 1
    settings.write_text(f'[[route]]\nprogram = "{program}"\n[remote]\ncommands = ["python"]\n')
    _, output, _ = await parley(tmp_path, "check", STARS_KEY="abc")
    assert "uvx is not among remote.commands" in output
