"""Pages of the web chat over real WebSockets: `python -m benchmarks.web_chat.pages`.

It takes `--pages 200 --rooms 20 --per-second 500`.

People write in several rooms and each message is answered. Measured is how long until who wrote it sees the answer, and
the processor time of the server for a message, also while many more pages are open in another room. The servers are our
chat alone, the whole gateway with a playbook in Python, and as the floor the same web server with nothing behind it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import fields

from adapters.web.codec import WebVisitor
from benchmarks.table import Row, show
from benchmarks.web_chat.people import HELLO, Told, pages, talk
from benchmarks.web_chat.servers import ANSWER, SECRET
from gateway.web.identity import COOKIE, WebIdentities, persistent_secret
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from tests.e2e.gateway_process import gateway

PROGRAM = f'''\
# Echo
Says what it is told.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Repeats everything."""
    await Say("user", "{ANSWER}{HELLO}")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "{ANSWER}" + message["text"])
```
'''
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_START_LIMIT_S = 30.0


class Load(Struct, frozen=True):
    """How much is said and by whom. `idle` pages look at a room of their own and say nothing."""

    pages: int = 200
    rooms: int = 20
    per_second: float = 100.0
    seconds: float = 4.0
    idle: int = 300


@dataclass(frozen=True)
class Server:
    """A server's process, and the secret with which it signs cookies."""

    url: str
    process_id: int
    secret: str

    def cookie(self, name: str) -> str:
        """What a browser sends in which somebody of this name has logged in."""
        return f"{COOKIE}={WebIdentities(self.secret, None, SystemClock()).cookie(WebVisitor(f'web:{name}', name))}"

    def cpu_s(self) -> float:
        """The processor time that it has taken so far."""
        fields = Path(f"/proc/{self.process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@dataclass(frozen=True)
class Measured:
    """What a load came to. `cpu_ms` are of the server for one message and its answer."""

    told: Told
    cpu_ms: float

    def delay_ms(self, percent: int) -> float:
        """The delay that so many percent of the answers stayed below."""
        return statistics.quantiles(self.told.delays_s, n=100)[percent - 1] * 1000


@asynccontextmanager
async def _started(which: str) -> AsyncIterator[Server]:
    command = [sys.executable, "-m", "benchmarks.web_chat.servers", which]
    process = await anyio.open_process(command, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        with anyio.fail_after(_START_LIMIT_S):
            port = int(await process.stdout.receive())
        yield Server(f"http://127.0.0.1:{port}", process.pid, SECRET)
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()


@asynccontextmanager
async def _whole() -> AsyncIterator[Server]:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "echo.pb"
        program.write_text(PROGRAM)
        async with gateway(Path(directory), program, {"PARLEY_LOGS__LEVEL": "warning"}) as running:
            yield Server(running.url, running.process_id, persistent_secret(Path(directory) / "web-secret"))


async def measure(server: Server, load: Load, idle: int) -> Measured:
    """Have people talk while so many pages of others are open in a room where nobody says anything."""
    told = Told()
    async with AsyncExitStack() as stack:
        quiet = pages(server.url, lambda n: (server.cookie(f"i{n}"), "quiet"), idle, Told())
        await stack.enter_async_context(quiet)
        loud = pages(server.url, lambda n: (server.cookie(f"p{n}"), f"room-{n % load.rooms}"), load.pages, told)
        talking = await stack.enter_async_context(loud)
        for page in {page.room: page for page in talking}.values():
            await page.say(HELLO)  # which begins a session in the room
        await told.all_answered()
        told.forget()
        before_s = server.cpu_s()
        await talk(talking, told, per_second=load.per_second, seconds=load.seconds)
        return Measured(told, (server.cpu_s() - before_s) / told.said * 1000)


async def _all(load: Load, whole: bool) -> list[Row]:
    async with _started("bare") as server:
        floor = await measure(server, load, 0)
    rows = []
    servers = [("chat alone", _started("alone")), *([("whole gateway", _whole())] if whole else [])]
    for name, started in servers:
        async with started as server:
            for idle in (0, load.idle):
                found = await measure(server, load, idle)
                told, where = found.told, f"{name}, {idle} idle pages"
                print(f"{where}: {told.said} said, {told.refused} refused, {told.lost} lost, {told.cut_off} cut off")
                rows += [
                    Row(f"{where}: answer, p50", found.delay_ms(50), "ms", floor.delay_ms(50), "bare server"),
                    Row(
                        f"{where}: answer, p99", found.delay_ms(99), "ms", floor.delay_ms(99), "bare server", "< 500 ms"
                    ),
                    Row(f"{where}: CPU a message", found.cpu_ms, "ms", floor.cpu_ms, "bare server"),
                    Row(f"{where}: lost", told.lost, "messages", target="0"),
                ]
    return rows


def run(load: Load | None = None, *, whole: bool = True) -> list[Row]:
    """The rows of a load; without one, of a small one. `whole` measures the whole gateway too."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(_all(load or Load(), whole))


def main() -> None:
    """Measure the load that the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Load):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    parser.add_argument("--whole", action=argparse.BooleanOptionalAction, default=True, help="the whole gateway too")
    arguments = vars(parser.parse_args())
    whole = arguments.pop("whole")
    print(show(run(Load(**arguments), whole=whole)))


if __name__ == "__main__":
    main()
