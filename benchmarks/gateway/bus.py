"""Events of clients over a real bus: `python -m benchmarks.gateway.bus`.

A process serves the bus with its own embedded server, as `parley run --role bus` does. Measured is how many events it
keeps, and how long one takes from a client's request until a subscriber has it. The floor is the
event log alone, without HTTP.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import httpx

from benchmarks.table import Row, show
from runtime.core.cloud_event import CloudEvent
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.event_log import RedisEventLog
from tests.e2e.gateway_process import gateway
from tests.fakes.servers.ports import free_port

WRITERS = 16
BATCH = 100
BATCHES = 20
TIMES = 300
WAIT_S = 30.0
PROGRAM = Path(__file__).parents[2] / "examples" / "hello.pb"
DATA = {"commit": "4f1c9d2", "result": "passed", "seconds": 41.5}


def token(name: str) -> str:
    """The token of a client here."""
    return f"a-token-of-{name}-in-a-benchmark"


@asynccontextmanager
async def bus(folder: Path) -> AsyncIterator[str]:
    """A bus with writers and a reader; gives its address."""
    port, environment = free_port(), dict[str, str]()
    for name in ("reader", *(f"writer{number}" for number in range(WRITERS))):
        (folder / name).write_text(token(name))
        environment[f"PARLEY_CLIENTS__{name.upper()}__TOKEN_FILE"] = str(folder / name)
        environment[f"PARLEY_CLIENTS__{name.upper()}__SCOPES"] = "events:read:>,events:write:build.>"
    async with gateway(folder, PROGRAM, environment, options=["--role", "bus", "--port", str(port)]):
        yield f"http://127.0.0.1:{port}/bus/v1"


def client(url: str, name: str) -> httpx.AsyncClient:
    """A connection of a client."""
    headers = {"authorization": f"Bearer {token(name)}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=WAIT_S, trust_env=False)


def written(writer: int, first: int, count: int) -> str:
    """A batch of events as a client writes them."""
    event = {"specversion": "1.0", "type": "build.done", "source": f"/clients/writer{writer}", "data": DATA}
    return json.dumps([{**event, "id": str(number)} for number in range(first, first + count)])


async def keeping(url: str) -> Sequence[Row]:
    """Writers that send batches one after another."""
    bodies = [[written(each, number * BATCH, BATCH) for number in range(BATCHES)] for each in range(WRITERS)]

    async def write(writer: int) -> None:
        async with client(url, f"writer{writer}") as http:
            for body in bodies[writer]:
                answer = (await http.post("/events", content=body)).raise_for_status().json()
                assert answer["accepted"] == BATCH

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for writer in range(WRITERS):
            tasks.start_soon(write, writer)
    rate = WRITERS * BATCHES * BATCH / (time.perf_counter() - begun)
    return [Row(f"bus: events kept, {WRITERS} writers, {BATCH} at once", rate, "events/s", target="≥ 5,000")]


async def telling(url: str, floor_ms: Sequence[float]) -> Sequence[Row]:
    """One event at a time, from its request to a subscriber by server-sent events."""
    walls_ms: list[float] = []
    async with AsyncExitStack() as stack:
        reader = await stack.enter_async_context(client(url, "reader"))
        writer = await stack.enter_async_context(client(url, "writer0"))
        accept = {"accept": "text/event-stream"}
        stream = await stack.enter_async_context(reader.stream("GET", "/events", headers=accept))
        lines = stream.aiter_lines()
        assert (await anext(lines)).startswith("id: ")
        for number in range(TIMES):
            body = written(0, 1_000_000 + number, 1)
            begun = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(writer.post, "/events", content=body))
                async for line in lines:
                    if line.startswith("data: "):
                        break
                walls_ms.append((time.perf_counter() - begun) * 1000)
    return [
        Row(f"bus: an event to its subscriber, {name}", _at(walls_ms, part), "ms", _at(floor_ms, part), "the log", held)
        for name, part, held in (("p50", 0.5, "< 10"), ("p99", 0.99, "< 50"))
    ]


async def bare(folder: Path) -> list[float]:
    """How long an event takes through the log of events alone, each in milliseconds."""
    walls_ms = []
    async with AsyncExitStack() as stack:
        location = await stack.enter_async_context(EmbeddedValkey(folder))
        log = RedisEventLog(await stack.enter_async_context(open_connection(location)))
        cursor = await log.newest()
        for number in range(TIMES):
            event = CloudEvent(str(number), "build.done", "/clients/writer0", datetime.now(UTC), data=DATA)
            begun = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(log.add, [event])
                moved = await log.wait(cursor, wait_s=WAIT_S)
                found = await log.read(cursor, count=10)
            assert [one.event.id for one in found] == [str(number)]
            walls_ms.append((time.perf_counter() - begun) * 1000)
            cursor = moved
    return walls_ms


def _at(values: Sequence[float], part: float) -> float:
    return sorted(values)[int(part * (len(values) - 1))]


async def measure() -> list[Row]:
    """All figures."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        floor_ms = await bare(Path(first))
        async with bus(Path(second)) as url:
            return [*await keeping(url), *await telling(url, floor_ms)]


def run() -> list[Row]:
    """The figures."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
