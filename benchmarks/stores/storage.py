"""Durable commits and the way from inbox to session: `python -m benchmarks.stores.storage`."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from redis.asyncio import BlockingConnectionPool, Redis, UnixDomainSocketConnection

from benchmarks.table import Row, show
from gateway.assembly.foundation import renewal_of
from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.encoding.encryption import ContentEncryption, new_key
from runtime.storage.encoding.sealing import fact_binding
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.sessions.store import COMMIT, RedisSessionStore, commit_call
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.tape import Fact, agent_tape
from tests.fakes.servers.shard_server import IdleServer

WRITERS = 32
COMMITS = 250
"""Commits of each writer in one round."""

ROUNDS = 5
HOPS = 500
SEALED = 20_000
NODE = LeaseHolder("bench", ttl_s=60.0)
AT = datetime(2026, 1, 1, tzinfo=UTC)
DATA = {"text": "x" * 200}

Call = Callable[[], Awaitable[Any]]


class Writers:
    """Sessions with one writer each, and the calls that append to them."""

    def __init__(self, lease: Lease, store: RedisSessionStore) -> None:
        self._lease = lease
        self._store = store
        self._rounds = 0
        self.named = "r"
        """How its sessions' names begin."""

    async def commits(self) -> list[list[Commit]]:
        """A round's commits, one fact each, for sessions that have just begun."""
        self._rounds += 1
        sessions = [SessionId(f"{self.named}{self._rounds}w{writer}") for writer in range(WRITERS)]
        for session in sessions:
            record = SessionRecord(session, Address("bench", session), "bench", AT, 0)
            await self._store.commit(Commit(self._lease, session, 0, begin=record))
        return [
            [
                Commit(self._lease, session, at, facts=(Fact(agent_tape(session, "1000"), at + 1, "said", AT, DATA),))
                for at in range(COMMITS)
            ]
            for session in sessions
        ]

    async def ours(self) -> float:
        """Commits a second through the store."""
        return await _rate([[partial(self._store.commit, one) for one in row] for row in await self.commits()])

    async def bare(self, client: Redis) -> float:
        """The same scripts a second with everything prepared and nothing around them."""
        calls: list[list[Call]] = []
        for row in await self.commits():
            prepared = [commit_call(one) for one in row]
            calls.append([partial(client.evalsha, COMMIT.digest, len(keys), *keys, *rest) for keys, rest in prepared])
        return await _rate(calls)


async def _rate(rows: list[list[Call]]) -> float:
    """Calls a second, each row in order, all rows at once."""

    async def go(row: list[Call]) -> None:
        for call in row:
            await call()

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for row in rows:
            tasks.start_soon(go, row)
    return sum(map(len, rows)) / (time.perf_counter() - began)


async def measure_commits(connection: RedisConnection, socket: Path) -> Row:
    """Fenced commits a second from many sessions at once, beside the bare script."""
    token = await RedisLeaseStore(connection).acquire("shard:0", NODE)
    assert token is not None
    writers = Writers(Lease(0, token), RedisSessionStore(connection))
    pool = BlockingConnectionPool(
        connection_class=UnixDomainSocketConnection,
        path=str(socket),
        max_connections=WRITERS,
        timeout=None,
        decode_responses=True,
        protocol=2,
    )
    client = Redis.from_pool(pool)
    pairs = [(await writers.ours(), await writers.bare(client)) for _ in range(ROUNDS)]
    await client.aclose()
    ours, bare = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    return Row("fenced commits", ours, "1/s", bare, "bare script", "≥ 0.5")


async def measure_encrypted(connection: RedisConnection, socket: Path) -> list[Row]:
    """Commits a second of content that is encrypted, beside those of content that is not; and opening it again."""
    token = await RedisLeaseStore(connection).acquire("shard:0", NODE)
    assert token is not None
    lease, sealing = Lease(0, token), ContentEncryption([new_key()])
    async with open_connection(socket, sealing=sealing) as encrypted:
        plain, sealed = (Writers(lease, RedisSessionStore(each)) for each in (connection, encrypted))
        plain.named, sealed.named = "p", "e"
        pairs = [(await sealed.ours(), await plain.ours()) for _ in range(ROUNDS)]
    ours, bare = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    binding = fact_binding(agent_tape(SessionId("r1w0"), "1000"), 1, "said", AT.isoformat(), "")
    text = json.dumps(DATA)
    written = sealing.seal(binding, text)
    return [
        Row("fenced commits, encrypted", ours, "1/s", bare, "not encrypted", "≥ 0.8"),
        Row("sealing a fact of 200 characters", _each_us(lambda: sealing.seal(binding, text)), "µs"),
        Row("opening it again", _each_us(lambda: sealing.open(binding, written)), "µs"),
    ]


def _each_us(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(SEALED):
        work()
    return (time.perf_counter() - began) / SEALED * 1e6


async def measure_hand_over(connection: RedisConnection) -> list[Row]:
    """From the call of `Inbox.add` to `ShardServer.dispatch`, one at a time, with all shards held."""
    inbox = RedisInbox(connection)
    clock = SystemClock()
    roster = ClusterRoster(RedisNodeStore(connection), NODE, clock)
    node = ClusterNode(RedisLeaseStore(connection), inbox, roster, renewal_of(connection, NODE, clock), Bus(clock))
    came = anyio.Event()
    arrivals: list[float] = []

    class Arrivals(IdleServer):
        def dispatch(self, _entry: InboxEntry, _lease: Lease, /) -> None:
            arrivals.append(time.perf_counter())
            came.set()

    took_ms, added_ms = [], []
    async with anyio.create_task_group() as tasks:
        await node.run(tasks, Arrivals())
        for number in range(HOPS):
            came = anyio.Event()
            event = InboxEvent(str(number), Address("bench", str(number // 100)), "bench:1", "Ada", "Hello", AT)
            began = time.perf_counter()
            await inbox.add(event)
            added_ms.append((time.perf_counter() - began) * 1000)
            await came.wait()
            took_ms.append((arrivals[-1] - began) * 1000)
        tasks.cancel_scope.cancel()
    floor = statistics.median(added_ms)
    return [
        Row("inbox add to hand-over, p50", statistics.median(took_ms), "ms", floor, "the add alone", "~1 ms"),
        Row("inbox add to hand-over, p99", statistics.quantiles(took_ms, n=100)[98], "ms"),
    ]


async def measure() -> list[Row]:
    """All rows, on an embedded server of their own."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        async with EmbeddedValkey(Path(directory)) as socket:
            started_ms = (time.perf_counter() - began) * 1000
            async with open_connection(socket) as connection:
                rows = [await measure_commits(connection, socket)]
                rows += await measure_encrypted(connection, socket)
                rows += await measure_hand_over(connection)
            began = time.perf_counter()
        stopped_ms = (time.perf_counter() - began) * 1000
    return [
        *rows,
        Row("embedded server, start", started_ms, "ms"),
        Row("embedded server, stop", stopped_ms, "ms", target="< 300 ms"),
    ]


def run() -> list[Row]:
    """The storage's rows of the table."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
