"""The cost of a long tape: `python -m benchmarks.stores.tapes`."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from redis.asyncio import Redis

from benchmarks.table import Row, show
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.sessions.rest import FACTS_BETWEEN, Snapshots
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS, Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.snapshot import rules_version, snapshot_of
from runtime.tape.tape import Fact, TapeBranch, agent_tape, last_facts, session_tape

LENGTHS = (1_000, 10_000, 100_000)
AFTER_SNAPSHOT = 400
"""Facts behind the snapshot, of which a new one is taken at 500."""

SESSIONS = 100_000
SHOWN = 50
ROUNDS = 5
TIMES = 50
AT = datetime(2026, 1, 1, tzinfo=UTC)
NODE = LeaseHolder("bench", ttl_s=600.0)
BATCH = 500


def talk(session: SessionId, count: int) -> Iterator[Fact]:
    """A session as a chat makes it: a person writes, an agent answers, about 200 bytes a fact."""
    agent, seq = agent_tape(session, "1000"), 2
    yield Fact(session_tape(session), 1, "begin", AT, {"program": "bench"})
    yield Fact(session_tape(session), 2, "agent", AT, {"id": "1000", "class": "Bench"})
    while seq < count:
        message = {"id": f"m{seq}", "from": "web:1", "class": "Human", "text": "x" * 100, "at": AT.isoformat()}
        page = str(seq + 3)
        for tape, kind, data in (
            (agent, "in", {"agent": "1000", "message": message}),
            (agent, "dropped", {"agent": "1000", "mids": [message["id"]]}),
            (agent, "page", {"f": "1", "agent": "1000", "to": "user"}),
            (agent, "opening", {"page": page, "part": 0, "text": "y" * 100}),
            (agent, "sent", {"page": page, "part": 0, "pid": f"p{seq}"}),
            (agent, "fin", {"f": "1", "page": page, "text": "y" * 200}),
            (agent, "shown", {"page": page}),
        ):
            if seq < count:
                seq += 1
                yield Fact(tape, seq, kind, AT + timedelta(milliseconds=seq), data)


class Bench:
    """Long sessions on one server."""

    def __init__(self, connection: RedisConnection, lease: Lease, address: Address) -> None:
        self._connection = connection
        self._lease = lease
        self._address = address
        self.store = RedisSessionStore(connection)
        self._made = 0

    async def long_session(self, length: int) -> SessionId:
        """A session of so many facts, with snapshots as a chat has them, the last one near its end."""
        session = SessionId(f"long{length}")
        journal = Journal(session, SystemClock(), _never)
        begin: SessionRecord | None = SessionRecord(session, self._address, "bench", AT, 0)
        facts = list(talk(session, length))
        for start in range(0, length, BATCH):
            await self.store.commit(
                Commit(self._lease, session, start, facts=tuple(facts[start : start + BATCH]), begin=begin)
            )
            begin = None
        last = length - AFTER_SNAPSHOT
        for fact in facts[:last]:
            journal.restore(fact)
            if fact.seq % FACTS_BETWEEN == last % FACTS_BETWEEN:
                await self.store.keep_snapshot(self._lease, session, snapshot_of(journal.state))
        return session

    async def restore_ms(self, session: SessionId) -> float:
        """Until the journal is where the tapes are, as a node does it."""
        record = SessionRecord(session, self._address, "bench", AT, 0)
        journal = Journal(session, SystemClock(), _never)
        return await _median_ms(lambda: Snapshots(self.store, record, lambda: self._lease, journal).restore())

    async def fold_ms(self, session: SessionId) -> float:
        """The same without a snapshot: the floor of what there would be to do."""

        async def fold() -> None:
            journal = Journal(session, SystemClock(), _never)
            async for fact in self.store.read_session(session):
                journal.restore(fact)

        return await _median_ms(fold, rounds=1)

    async def reading(self, session: SessionId, length: int) -> list[Row]:
        """Parts of a tape."""

        async def amid() -> Sequence[Fact]:
            after = length // 2
            return [fact async for fact in self.store.read_session(session, after=after, until=after + 100)]

        last_ms = await _median_ms(lambda: last_facts(self.store, session, 100))
        anchor_ms = await _median_ms(lambda: self.store.last_anchor(session, "begin"))
        return [
            Row(f"the last 100 of {length:,} facts", last_ms, "ms"),
            Row(f"100 amid {length:,} facts", await _median_ms(amid), "ms"),
            Row(f"the last anchor of {length:,} facts", anchor_ms, "ms"),
        ]

    async def branch_ms(self, session: SessionId, seq: int, *, replaces: bool) -> float:
        """A session that goes on from another, beside it or in its place."""

        async def go_on() -> None:
            self._made += 1
            id_, branch = SessionId(f"b{self._made}"), TapeBranch(session, seq)
            record = SessionRecord(id_, self._address, "bench", AT, 0, parent=branch)
            before = SessionId(f"b{self._made - 1}") if replaces else None
            commit = Commit(self._lease, record.id, seq, begin=record, replaces=before)
            await self.store.commit(commit)

        return await _median_ms(go_on, rounds=TIMES)


async def _never(_batch: CommitBatch) -> None:
    raise AssertionError("nothing is written here")


async def _median_ms(call: Callable[[], Awaitable[object]], *, rounds: int = ROUNDS) -> float:
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        await call()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


async def measure_lengths(connection: RedisConnection) -> list[Row]:
    """Restoring, branching and reading, by how long the session is."""
    address = Address("bench", "1")
    shard = shard_of(address.key)
    token = await RedisLeaseStore(connection).acquire(f"shard:{shard}", NODE)
    assert token is not None
    bench = Bench(connection, Lease(shard, token), address)
    ping = await _median_ms(lambda: connection.retrying(_ping, "{parley:0}"), rounds=TIMES)
    rows: list[Row] = []
    for length in LENGTHS:
        session = await bench.long_session(length)
        assert await bench.store.snapshot(session, rules_version()) is not None
        after = f"{length:,} facts"
        rows += [
            Row(f"restore a session of {after}", await bench.restore_ms(session), "ms", target="no growth"),
            Row(f"… by all of its {after}", await bench.fold_ms(session), "ms"),
            Row(f"fork, {after}", await bench.branch_ms(session, length // 2, replaces=False), "ms", ping, "PING"),
            Row(f"undo, {after}", await bench.branch_ms(session, length - 1, replaces=True), "ms", ping, "PING"),
            *await bench.reading(session, length),
        ]
    return rows


async def _ping(client: Redis) -> Any:
    return await client.ping()


async def measure_lists(connection: RedisConnection) -> list[Row]:
    """A page of the list of many sessions: the first, and one in the middle."""
    await make_sessions(connection)
    catalog = RedisSessionCatalog(connection)
    assert await catalog.count() >= SESSIONS
    first = await _median_ms(lambda: catalog.page(limit=SHOWN))
    middle = f"{AT.timestamp() * 1000 + SESSIONS / 2:.0f}:~"
    return [
        Row(f"first {SHOWN} of {SESSIONS:,} sessions", first, "ms", target="< 20 ms"),
        Row(f"{SHOWN} amid {SESSIONS:,} sessions", await _median_ms(lambda: catalog.page(middle, limit=SHOWN)), "ms"),
    ]


async def make_sessions(connection: RedisConnection) -> None:
    """Records and list entries alone, as the scripts write them."""

    async def write(client: Redis) -> Any:
        batch = client.pipeline(transaction=False)
        for number in range(SESSIONS):
            address = Address("bench", f"many{number}")
            keys, session = ShardKeys(shard_of(address.key)), SessionId(f"s{number}")
            fields: dict[Any, Any] = {
                "address": f'["bench","many{number}",null]',
                "conversation": address.key,
                "program": "bench",
                "started_at": AT.isoformat(),
                "seq": 0,
                "ended": "0",
            }
            batch.hset(keys.session(session), mapping=fields)
            batch.zadd(keys.sessions, {session: AT.timestamp() * 1000 + number})
            if number % 1_000 == 999:
                await batch.execute()
        for shard in range(SHARDS):
            batch.set(ShardKeys(shard).sessions_known, "1")
        return await batch.execute()

    await connection.retrying(write, "{parley:0}")


async def measure() -> list[Row]:
    """All rows, on an embedded server of their own."""
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedValkey(Path(directory)) as socket, open_connection(socket) as connection:
            return [*await measure_lengths(connection), *await measure_lists(connection)]


def run() -> list[Row]:
    """The tapes' rows of the table."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
