"""The whole gateway while a quick model speaks in many chats: `python -m benchmarks.models.model_chats`.

Each of 20 conversations has a page that sees its answer grow, at 1,000 pieces of text a second. Meanwhile somebody asks
again and again whether the gateway lives; the answer's time has the asking process's own lateness in it.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import anyio
import httpx

from benchmarks.models.model_stream import PIECES_PER_S, SECONDS, STREAMS, serving
from benchmarks.table import Row, show
from tests.e2e.gateway_process import Gateway, Room, gateway

PEOPLE = 8
"""Fewer than may log in from one address at once."""

CHARS = 24_000
PROGRAM = """# Teller
Tells what it knows.

## Main
### Triggers
- At the beginning
### Steps
- Tell the user a long story
- End program
"""


def cpu_s(process_id: int) -> float:
    """What a process has used so far."""
    used = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


async def ask(url: str, ends: anyio.Event, took_ms: list[float]) -> None:
    """Ask whether the gateway lives, a hundred times a second at most."""
    async with httpx.AsyncClient(base_url=url) as client:
        while not ends.is_set():
            begun = time.perf_counter()
            await client.get("/healthz")
            took_ms.append((time.perf_counter() - begun) * 1_000)
            await anyio.sleep(0.01)


async def listen(running: Gateway, number: int) -> None:
    """Have a story told in a room of one's own."""
    async with running.page(f"P{number % PEOPLE}") as page:
        room = Room(page, f"room{number}")
        await room.open()
        await room.say("hi")
        await room.until_that(lambda: sum(map(len, room.texts())) > CHARS)


async def measure(directory: Path, url: str) -> list[Row]:
    """Listen in all rooms at once."""
    program = directory / "teller.pb"
    program.write_text(PROGRAM)
    model = {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": url, "PARLEY_MODEL_API_KEY": "key"}
    async with gateway(directory, program, model) as running, anyio.create_task_group() as asking:
        for number in range(PEOPLE):
            await running.cookie(f"P{number}")
        ends, took_ms = anyio.Event(), list[float]()
        asking.start_soon(ask, running.url, ends, took_ms)
        begun, used = time.perf_counter(), cpu_s(running.process_id)
        async with anyio.create_task_group() as listeners:
            for number in range(STREAMS):
                listeners.start_soon(listen, running, number)
        seconds = time.perf_counter() - begun
        ends.set()
        used = cpu_s(running.process_id) - used
    pieces = STREAMS * SECONDS * PIECES_PER_S
    name = f"{STREAMS} chats at {PIECES_PER_S} pieces/s: "
    return [
        Row(f"{name}/healthz answers after at most", max(took_ms), "ms", sorted(took_ms)[len(took_ms) // 2], "p50"),
        Row(f"{name}all have seen it", seconds, "s", SECONDS, "sent"),
        Row(f"{name}CPU of the gateway for a piece", used / pieces * 1e6, "µs"),
    ]


def run() -> list[Row]:
    """All figures."""
    with tempfile.TemporaryDirectory() as directory, serving(SECONDS * PIECES_PER_S, PIECES_PER_S) as url:
        return anyio.run(measure, Path(directory), url)


if __name__ == "__main__":
    print(show(run()))
