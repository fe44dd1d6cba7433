"""Many sessions on one node, and several nodes: `python -m benchmarks.gateway.scale [KNOWN [LIVING [ACTIVE]]]`.

Node and people are processes of their own, the database is the embedded server; there are no platforms. How the
figures grow to a million people: docs/running/scaling.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
from redis.asyncio import Redis

from benchmarks.gateway.crowd import Heard, copies, node, room, write
from benchmarks.table import Row, show
from runtime.core.ids import SessionId
from runtime.sessions.idle import MOST
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS, Commit, Lease, SessionRecord
from runtime.tape.tape import Fact, agent_tape

NODES = (1, 2, 4)
TALKS = 500
"""In so many conversations something is said to measure how much one node, two and four can answer."""

ROUNDS = 5
"""So often, each time when all were answered."""

TOGETHER = 100
"""In so many conversations something is said at once before it is measured what those that rest take."""

LOOK_S, MAX_LOOKS = 0.2, 1_000
"""How often it is looked whether all sessions rest."""

AT = datetime(2026, 1, 1, tzinfo=UTC)

ANSWER_S = 20.0
"""How long the model writes while sessions are active."""

NEWCOMERS, NEWCOMERS_PER_S = 60, 20
"""So many people write, in conversations of their own, while half answers come back after a kill."""


@dataclass(frozen=True)
class Size:
    """How many sessions are known, in memory, and in the middle of an answer."""

    known: int = 100_000
    living: int = 10_000
    active: int = 1_000


@asynccontextmanager
async def _server() -> AsyncIterator[tuple[Path, RedisConnection]]:
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedValkey(Path(directory)) as socket, open_connection(socket) as connection:
            yield socket, connection


async def _info(connection: RedisConnection, section: str, key: str) -> int:
    async def call(client: Redis) -> int:
        return int((await client.info(section))[key])

    return await connection.retrying(call, "")


async def _scripts(connection: RedisConnection) -> int:
    """How many scripts the server has run."""

    async def call(client: Redis) -> int:
        stats = await client.info("commandstats")
        return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))

    return await connection.retrying(call, "")


async def _a_resting_session(socket: Path, connection: RedisConnection) -> SessionId:
    heard = Heard()
    async with node(socket, "one", 0, heard):
        for count in range(1, 4):
            await write(connection, [0])
            await heard.answered(count)
    record = await RedisSessionStore(connection).current(shard_of(room(0).key), room(0).key)
    assert record is not None
    return record.id


async def measure_many(size: Size) -> list[Row]:
    """One node: what a session takes, how long a restart lasts, how long a message waits."""
    async with _server() as (socket, connection):
        like = await _a_resting_session(socket, connection)
        empty = await _info(connection, "memory", "used_memory")
        await copies(connection, like, range(1, size.known + 1))
        full = await _info(connection, "memory", "used_memory")
        rows = [Row("known session in the database", (full - empty) / size.known / 1024, "KiB")]
        heard, began = Heard(), time.perf_counter()
        async with node(socket, "one", 0, heard) as running:
            rows.append(Row(f"start to ready, {size.known:,} known", time.perf_counter() - began, "s"))
            idle, kept = await running.memory_bytes(), min(size.living, MOST)
            await _come_to_rest(connection, heard, range(1, kept + 1))
            taken = await running.memory_bytes() - idle
            rows.append(Row(f"resting session, {kept:,} of them", taken / kept / 1024, "KiB"))
            if size.living > kept:
                await _come_to_rest(connection, heard, range(kept + 1, size.living + 1))
                taken = await running.memory_bytes() - idle
                rows.append(
                    Row(f"the same, {size.living:,} of them", taken / size.living / 1024, "KiB", target="<= 20 KiB")
                )
            await running.kill()
        rows += await _after_a_kill(socket, connection, size)
        return rows + await _active(socket, connection, size)


async def _come_to_rest(connection: RedisConnection, heard: Heard, rooms: Sequence[int]) -> None:
    """Something is said in each of these conversations, in some at a time, until all rest."""
    for first in range(0, len(rooms), TOGETHER):
        some = rooms[first : first + TOGETHER]
        answered = heard.answers.total()
        await write(connection, some)
        await heard.answered(answered + len(some))
        await _at_rest(connection)


async def _after_a_kill(socket: Path, connection: RedisConnection, size: Size) -> list[Row]:
    heard, began = Heard(), time.perf_counter()
    async with node(socket, "one", 0, heard):
        ready_s = time.perf_counter() - began
        began = time.perf_counter()
        await write(connection, [size.living])
        await heard.until(lambda: bool(heard.answers[room(size.living).conversation]))
        first_s = time.perf_counter() - began
    floor_s = await _floor_of_a_start()
    return [
        Row(f"kill to ready again, {size.living:,} rested in memory", ready_s, "s", floor_s, "imports alone"),
        Row("first answer after that", first_s * 1000, "ms"),
    ]


async def _at_rest(connection: RedisConnection) -> None:
    """Return when the store knows that no session has anything to go on with."""
    for _ in range(MAX_LOOKS):
        if not await connection.retrying(_awake, ""):
            return
        await anyio.sleep(LOOK_S)
    raise RuntimeError(f"after {MAX_LOOKS * LOOK_S:.0f} s there are sessions that do not rest")


async def _awake(client: Redis) -> int:
    return sum([int(await client.scard(ShardKeys(shard).awake)) for shard in range(SHARDS)])


async def _floor_of_a_start() -> float:
    began = time.perf_counter()
    await anyio.run_process([sys.executable, "-c", "import benchmarks.gateway.node"])
    return time.perf_counter() - began


async def _active(socket: Path, connection: RedisConnection, size: Size) -> list[Row]:
    heard = Heard()
    async with node(socket, "one", ANSWER_S, heard) as running:
        idle = await running.memory_bytes()
        await write(connection, range(1, size.active + 1), per_s=2 * size.active / ANSWER_S)
        active = await running.memory_bytes()  # none has ended yet, and none rests
        await write(connection, range(size.active + 1, 2 * size.active + 1), per_s=size.active / ANSWER_S)
        await heard.answered(2 * size.active)
        await write(connection, range(2 * size.active + 1, 3 * size.active + 1), per_s=size.active / ANSWER_S)
        await heard.until(lambda: len(heard.delays_ms) == 3 * size.active)
        await running.kill()
        said = heard.answers.total()
    later = heard.delays_ms[size.active : 2 * size.active]
    began = time.perf_counter()
    async with node(socket, "one", 0, heard):
        ready_s = time.perf_counter() - began
        last = 3 * size.active + NEWCOMERS
        await write(connection, range(3 * size.active + 1, last + 1), per_s=NEWCOMERS_PER_S)
        await heard.answered(last)
        finished_s = time.perf_counter() - began
    unfinished = 3 * size.active - said
    meanwhile = heard.delays_ms[3 * size.active :]
    return [
        Row("session in the middle of an answer", (active - idle) / size.active / 1024, "KiB", target="<= 80 KiB"),
        Row(f"kill to ready again, {unfinished:,} in an answer", ready_s, "s"),
        Row("until all of those are answered", finished_s, "s"),
        Row("said to agent's queue meanwhile, p50", statistics.median(meanwhile), "ms"),
        Row("said to agent's queue meanwhile, p99", statistics.quantiles(meanwhile, n=100)[98], "ms"),
        Row(f"said to agent's queue, {size.active:,} active, p50", statistics.median(later), "ms"),
        Row(f"said to agent's queue, {size.active:,} active, p99", statistics.quantiles(later, n=100)[98], "ms"),
    ]


async def measure_nodes() -> list[Row]:
    """How much one node, two and four answer in a second, beside the server's own scripts alone."""
    rows = []
    for count in NODES:
        async with _server() as (socket, connection), AsyncExitStack() as stack:
            heard = Heard()
            for number in range(count):
                await stack.enter_async_context(node(socket, f"node{number}", 0, heard))
            await _talk(connection, heard, 1)
            before, began = await _scripts(connection), time.perf_counter()
            await _talk(connection, heard, ROUNDS)
            rate = TALKS * ROUNDS / (time.perf_counter() - began)
            scripts = (await _scripts(connection) - before) / (TALKS * ROUNDS)
            bare = await _bare(connection) / scripts
        name = "1 node" if count == 1 else f"{count} nodes"
        rows.append(Row(f"answers by {name}", rate, "1/s", bare, f"{scripts:.1f} scripts an answer, bare"))
    return rows


async def _talk(connection: RedisConnection, heard: Heard, rounds: int) -> None:
    """In each conversation something is said when what was said before has been answered."""
    for _ in range(rounds):
        answered = heard.answers.total()
        await write(connection, range(TALKS))
        await heard.answered(answered + TALKS)


async def _bare(connection: RedisConnection) -> float:
    """Commits a second with nothing around them."""
    lease, store = Lease(63, int(await connection.retrying(_held_token, ""))), RedisSessionStore(connection)
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for writer in range(32):
            tasks.start_soon(_commit, store, lease, SessionId(f"bare{writer}"), 100)
    return 32 * 101 / (time.perf_counter() - began)


async def _held_token(client: Redis) -> str:
    return str(await client.hget(ShardKeys(63).lease, "token"))


async def _commit(store: RedisSessionStore, lease: Lease, session: SessionId, count: int) -> None:
    await store.commit(Commit(lease, session, 0, begin=SessionRecord(session, room(0), "bench", AT, 0)))
    for seq in range(count):
        fact = Fact(agent_tape(session, "1000"), seq + 1, "said", AT, {"text": "x" * 200})
        await store.commit(Commit(lease, session, seq, facts=(fact,)))


async def measure(size: Size) -> list[Row]:
    """All rows."""
    return [*await measure_many(size), *await measure_nodes()]


def run() -> list[Row]:
    """The rows of the table."""
    return anyio.run(measure, Size())


if __name__ == "__main__":
    print(show(anyio.run(measure, Size(*map(int, sys.argv[1:])))))
