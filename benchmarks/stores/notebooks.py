"""Clients' tapes over the real web server: `python -m benchmarks.stores.notebooks`.

Times are medians. Processor times are those of the gateway and the client, which are one process here, without the
database's.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx

from adapters.web.adapter import WebAdapter
from benchmarks.table import Row, show
from gateway.clients.journals import TAPES, ClientJournals
from gateway.clients.requests import ClientAdmission
from gateway.clients.scopes import scopes_from
from gateway.features.notebooks.door import TapeService
from gateway.features.notebooks.redis import RedisNotebooks
from gateway.features.notebooks.search.search import NotebookSearch
from gateway.features.notebooks.store import Draft, entry_line
from gateway.features.notebooks.tapes import NamedTapes
from gateway.web.app import ServiceMount, build_web
from gateway.web.identity import ReservedNames, WebIdentities
from gateway.web.logins.door import PasswordLogIn
from gateway.web.server import serve
from runtime.core.clock import SystemClock
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from tests.fakes.memory.rooms import memory_tables

LENGTH = 100_000
WRITERS = 16
BATCH = 100
TIMES = 50
QUIET = 500
TOKEN = "a-token-of-the-benchmark"
WORDS = (
    "error",
    "database",
    "migration",
    "table",
    "left",
    "right",
    "数据库迁移",
    "完成",
    "schedule",
    "answer",
    "question",
)


@dataclass(frozen=True)
class Bench:
    """A server with notebooks, and a client of it."""

    store: RedisNotebooks
    http: httpx.AsyncClient


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    clock = SystemClock()
    scopes = {"bench": scopes_from(["tapes:read:*", "tapes:write:*"])}
    async with AsyncExitStack() as stack:
        location = await stack.enter_async_context(EmbeddedValkey(folder))
        connection = await stack.enter_async_context(open_connection(location))
        sessions, inbox = RedisSessionStore(connection), RedisInbox(connection)
        store, catalog = RedisNotebooks(connection, sessions.news), RedisSessionCatalog(connection)
        search = NotebookSearch(store, folder / "index")
        stack.callback(search.close)
        made = TapeService(
            ClientAdmission({"bench": TOKEN}, scopes, clock),
            NamedTapes(store, catalog, sessions),
            ClientJournals(catalog, inbox, clock),
            search,
            clock,
        )
        log_in = PasswordLogIn(WebIdentities("secret", None, clock), ReservedNames(), clock)
        app = build_web(WebAdapter(memory_tables(), clock), log_in, [ServiceMount(TAPES, made.app())])
        tasks = await stack.enter_async_context(anyio.create_task_group())
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        limits = httpx.Limits(max_connections=QUIET + WRITERS + 10)
        http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/tape/v1",
            headers={"authorization": f"Bearer {TOKEN}"},
            timeout=120,
            limits=limits,
            trust_env=False,
        )
        yield Bench(store, await stack.enter_async_context(http))
        tasks.cancel_scope.cancel()


def text(number: int, chance: random.Random) -> str:
    """About 150 characters, with a word of its own."""
    return " ".join([f"entry{number:07}", *chance.choices(WORDS, k=14)])


def drafts(first: int, count: int, chance: random.Random) -> list[Draft]:
    return [
        Draft("message", entry_line("message", {"role": "user", "content": text(number, chance)}, {}, ""))
        for number in range(first, first + count)
    ]


async def timed(do: Callable[[], Awaitable[object]], times: int = TIMES) -> tuple[float, float]:
    """The median of the wall times, and the least processor time, in milliseconds."""
    walls, processors = [], []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        await do()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return sorted(walls)[times // 2] * 1000, min(processors) * 1000


async def appending(made: Bench) -> Sequence[Row]:
    """Writers with a notebook each, who append over HTTP in batches."""
    entry = {"kind": "message", "payload": {"role": "user", "content": "x" * 150}}
    rates: list[float] = []

    async def write(number: int, batches: int) -> None:
        body = json.dumps({"entries": [entry] * BATCH})
        for _ in range(batches):
            (await made.http.post(f"/tapes/writer{number}/entries", content=body)).raise_for_status()

    for _ in range(3):
        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for number in range(WRITERS):
                tasks.start_soon(write, number, 10)
        rates.append(WRITERS * 10 * BATCH / (time.perf_counter() - begun))
    name = f"notebooks: appended over HTTP, {WRITERS} writers, {BATCH} at once"
    return [Row(name, max(rates), "entries/s", target="≥ 5,000")]


async def branching(made: Bench) -> Sequence[Row]:
    """Forks and rollbacks of a long notebook, in the store."""
    origin = await made.store.find("long")
    assert origin is not None
    count = 0

    async def fork() -> None:
        nonlocal count
        count += 1
        await made.store.fork(f"fork{count}", origin, LENGTH // 2)

    fork_ms, _ = await timed(fork)

    async def roll() -> None:
        nonlocal count
        await made.store.rollback(f"fork{count}", LENGTH // 2 - count)
        count -= 1

    rollback_ms, _ = await timed(roll, TIMES - 1)
    return [
        Row(f"notebooks: fork of {LENGTH:,}", fork_ms, "ms", target="< 1"),
        Row(f"notebooks: rollback in {LENGTH:,}", rollback_ms, "ms", target="< 1"),
    ]


async def reading(made: Bench) -> Sequence[Row]:
    """A hundred entries from the middle of a long notebook, over HTTP; the floor is an answer without any."""

    async def some() -> None:
        answer = await made.http.get("/tapes/long/entries", params={"after": LENGTH // 2, "limit": 100})
        assert len(answer.json()["entries"]) == 100

    async def nothing() -> None:
        (await made.http.get("/tapes/long")).raise_for_status()

    (wall_ms, cpu_ms), (floor_ms, _) = await timed(some), await timed(nothing)
    name = f"notebooks: 100 of {LENGTH:,} over HTTP"
    return [
        Row(name, wall_ms, "ms", floor_ms, "none of them", "< 3"),
        Row(f"{name}, processor time with the client's", cpu_ms, "ms"),
    ]


async def searching(made: Bench) -> Sequence[Row]:
    """Questions to a long notebook, whose index is made first."""
    begun, behind = time.perf_counter(), True
    while behind:
        answer = (await made.http.get("/tapes/long/search", params={"q": "nobody"})).json()
        behind = answer["behind"]
    rows = [Row(f"notebooks: index of {LENGTH:,}", time.perf_counter() - begun, "s")]
    asked = {
        "a rare word": "entry0050000",
        "a typing error": "databse migratoin",
        "two characters": "数据",
        "a phrase": '"database migration table"',
        "a common word": "error",
    }
    for name, q in asked.items():

        async def ask(q: str = q) -> None:
            (await made.http.get("/tapes/long/search", params={"q": q, "limit": 10})).raise_for_status()

        wall_ms, _ = await timed(ask)
        rows.append(Row(f"notebooks: search of {LENGTH:,} over HTTP, {name}", wall_ms, "ms", target="< 5"))
    return rows


async def following(made: Bench) -> Sequence[Row]:
    """One entry to its follower, while others follow quiet notebooks."""
    rows: list[Row] = []
    for quiet in (0, QUIET):
        async with AsyncExitStack() as stack:
            for number in range(quiet):
                name = f"quiet{number}"
                await made.store.append(name, drafts(0, 1, random.Random(0)))
                lines = await _follow(made, stack, name)
                assert (await anext(lines)).startswith("id: ")
            lines = await _follow(made, stack, "writer0")
            walls = []
            for _ in range(TIMES):
                begun = time.perf_counter()
                await made.store.append("writer0", drafts(0, 1, random.Random(0)))
                async for line in lines:
                    if line.startswith("data: "):
                        break
                walls.append(time.perf_counter() - begun)
        name = f"notebooks: one entry to its follower, {quiet} quiet"
        rows += [Row(name, sorted(walls)[TIMES // 2] * 1000, "ms"), Row(f"{name}, worst", max(walls) * 1000, "ms")]
    return rows


async def _follow(made: Bench, stack: AsyncExitStack, name: str) -> AsyncIterator[str]:
    response = await stack.enter_async_context(made.http.stream("GET", f"/tapes/{name}/follow"))
    lines: Any = response.aiter_lines()
    return await stack.enter_async_context(aclosing(lines))


async def measure() -> list[Row]:
    """All figures, on one server."""
    chance = random.Random(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        async with bench(Path(folder)) as made:
            for first in range(0, LENGTH, 1_000):
                await made.store.append("long", drafts(first, 1_000, chance))
            for part in (appending, branching, reading, searching, following):
                rows += await part(made)
    return rows


def run() -> list[Row]:
    """The figures."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
