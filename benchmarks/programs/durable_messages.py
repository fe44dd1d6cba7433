"""Messages of a Python playbook to another agent, durable: `python -m benchmarks.programs.durable_messages`."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
from msgspec.structs import replace
from redis.asyncio import ConnectionPool, Redis, UnixDomainSocketConnection

from benchmarks.nobody import Awaiting
from benchmarks.table import Row, show
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import COMMIT, RedisSessionStore, commit_call
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.tape import Fact, tape_in
from tests.fakes.people.talk import Model
from tests.unit.runtime.sessions import programs as small

MESSAGES = 2_000
AT = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 3
NODE = LeaseHolder("bench", ttl_s=60.0)

SENDS = f"""
async def Main():
    for number in range({MESSAGES}):
        await Say("Clerk", str(number))
"""

HEARS = f"""
async def Listen():
    heard = 0
    while heard < {MESSAGES}:
        heard += len(await WaitForMessage("*"))
    await Say("user", "done")
"""


class _Kept(RedisSessionStore):
    """Remembers the facts that it wrote."""

    def __init__(self, connection: RedisConnection) -> None:
        super().__init__(connection)
        self.facts: list[Fact] = []
        self.commits = 0

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        self.facts += commit.facts
        self.commits += 1


async def _ours(connection: RedisConnection, lease: Lease, room: Address) -> tuple[float, _Kept]:
    """Messages a second, and what was written for them."""
    begin = "BGN When program starts"
    program = small.program(
        small.agent("Main", small.python("Main", trigger=begin), code=SENDS),
        small.agent("Clerk", small.python("Listen", trigger=begin), code=HEARS),
    )
    clock, crowd, store, inbox = SystemClock(), Awaiting(), _Kept(connection), RedisInbox(connection)
    async with MontySandbox(max_workers=1) as sandbox, anyio.create_task_group() as tasks:
        around = NodeContext({program.name: program}, store, crowd, sandbox, Model(), Bus(clock))
        registry = ConversationRegistry(around, inbox, tasks)
        await registry.gained(lease)
        event = InboxEvent("1", room, "bench:1", "Ada", "go", AT, program=program.name)
        await inbox.add(event)
        (entry,) = await inbox.read({lease.shard: "0"}, wait_s=0)
        began = time.perf_counter()
        registry.dispatch(entry, lease)
        await crowd.answered.wait()
        rate = MESSAGES / (time.perf_counter() - began)
        tasks.cancel_scope.cancel()
    return rate, store


async def _bare(socket: Path, lease: Lease, room: Address, facts: Sequence[Fact]) -> float:
    """Messages a second when the script alone is run for each, with everything prepared, for the same facts."""
    session = SessionId(f"bare-{room.conversation}")
    begin = Commit(lease, session, 0, begin=SessionRecord(session, room, "bench", AT, 0))
    each = len(facts) // MESSAGES
    renamed = [replace(fact, tape=tape_in(fact.tape, session), seq=seq) for seq, fact in enumerate(facts, start=1)]
    parts = [tuple(renamed[first : first + each]) for first in range(0, each * MESSAGES, each)]
    commits = [begin, *(Commit(lease, session, number * each, facts=part) for number, part in enumerate(parts))]
    prepared = [commit_call(commit) for commit in commits]
    client = Redis(connection_pool=ConnectionPool(UnixDomainSocketConnection, path=str(socket), decode_responses=True))
    began = time.perf_counter()
    for keys, rest in prepared:
        outcome, *_ = await client.evalsha(COMMIT.digest, len(keys), *keys, *rest)
        assert outcome == "ok"
    rate = MESSAGES / (time.perf_counter() - began)
    await client.aclose()
    return rate


async def _round(socket: Path, connection: RedisConnection, number: int) -> tuple[float, float, float]:
    """Messages a second, with the script alone, and how many commits there were for each."""
    room = Address("bench", f"room-{number}")
    shard = shard_of(room.key)
    token = await RedisLeaseStore(connection).acquire(f"shard:{shard}", NODE)
    assert token is not None
    lease = Lease(shard, token)
    ours, store = await _ours(connection, lease, room)
    return ours, await _bare(socket, lease, room, store.facts), store.commits / MESSAGES


async def measure() -> list[Row]:
    """The rows, on an embedded server of their own."""
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedValkey(Path(directory)) as socket, open_connection(socket) as connection:
            rounds = [await _round(socket, connection, number) for number in range(ROUNDS)]
    ours, bare, commits = (statistics.median(figures) for figures in zip(*rounds, strict=True))
    what = "messages from a Python playbook to another agent, durable"
    return [
        Row(what, ours, "1/s", bare, "the bare script for each", "≥ 0.5"),
        Row("commits for each of them", commits, ""),
    ]


def run() -> list[Row]:
    """The rows of this benchmark."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(measure())


if __name__ == "__main__":
    print(show(run()))
