"""Nodes as processes, and people who write to many conversations at once."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId, TapeId
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import SHARDS, Commit, Lease, LeaseHolder

ROOT = Path(__file__).parents[2]
_AT_ONCE = 32


@dataclass
class Heard:
    """What the nodes told. `answers` are counted by conversation, `delays_ms` are from saying to the agent's queue."""

    ready: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    memory_bytes: list[int] = field(default_factory=list)
    delays_ms: list[float] = field(default_factory=list)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def take(self, line: str) -> None:
        """A line of a node."""
        kind, _, rest = line.partition(" ")
        if kind == "ready":
            self.ready += 1
        elif kind == "answered":
            self.answers[rest] += 1
        elif kind == "heard":
            self.delays_ms.append(float(rest))
        elif kind == "memory":
            self.memory_bytes.append(int(rest))
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def answered(self, count: int) -> None:
        """Return when there are that many answers in all."""
        await self.until(lambda: self.answers.total() >= count)

    async def until(self, there: Callable[[], bool]) -> None:
        """Return when `there` holds, asked after every line."""
        while not there():
            await self._changed.wait()


@dataclass(frozen=True)
class Running:
    """A node's process."""

    process: Process
    heard: Heard

    async def kill(self) -> None:
        """Kill it, as a crash does."""
        self.process.kill()
        await self.process.wait()

    async def memory_bytes(self) -> int:
        """What the process takes now."""
        known = len(self.heard.memory_bytes)
        assert self.process.stdin is not None
        await self.process.stdin.send(b"\n")
        await self.heard.until(lambda: len(self.heard.memory_bytes) > known)
        return self.heard.memory_bytes[-1]


async def _listen(process: Process, heard: Heard) -> None:
    assert process.stdout is not None
    rest = ""
    async for text in TextReceiveStream(process.stdout):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            heard.take(line)
    if process.returncode is None and await process.wait() >= 0:
        raise RuntimeError("a node ended by itself; its words stand above")


@asynccontextmanager
async def node(socket: Path, name: str, answer_s: float, heard: Heard) -> AsyncIterator[Running]:
    """A node that is ready; it is stopped in the end, unless it was killed."""
    command = [sys.executable, "-m", "benchmarks.gateway.node", str(socket), name, str(answer_s)]
    ready = heard.ready
    async with await anyio.open_process(command, cwd=ROOT, stderr=None) as process, anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, process, heard)
        await heard.until(lambda: heard.ready > ready)
        yield Running(process, heard)
        tasks.cancel_scope.cancel()
        if process.returncode is None:
            assert process.stdin is not None
            await process.stdin.aclose()
            await process.wait()


def room(number: int) -> Address:
    """The conversation of that number."""
    return Address("bench", f"room-{number}")


def event(number: int) -> InboxEvent:
    """Something that is said there now; its id tells when."""
    id_ = f"{number}@{time.time():.6f}"
    return InboxEvent(id_, room(number), "bench:1", "Ada", "next", SystemClock().now(), program="echo")


async def write(connection: RedisConnection, rooms: Sequence[int], *, per_s: float | None = None) -> None:
    """Say something in each of `rooms`, at an even pace or as fast as the server takes it."""
    inbox = RedisInbox(connection)
    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        limit = anyio.Semaphore(_AT_ONCE)
        for place, number in enumerate(rooms):
            if per_s is not None:
                await anyio.sleep(max(0.0, begun + place / per_s - time.perf_counter()))
            await limit.acquire()
            tasks.start_soon(_say, inbox, number, limit)


async def _say(inbox: RedisInbox, number: int, limit: anyio.Semaphore) -> None:
    try:
        await inbox.add(event(number))
    finally:
        limit.release()


async def copies(connection: RedisConnection, like: SessionId, numbers: Sequence[int]) -> None:
    """Known sessions, each in a conversation of its own, all like one that rests."""
    whole = await RedisSessionCatalog(connection).whole(like)
    assert whole is not None
    leases, holder = RedisLeaseStore(connection), LeaseHolder("copies", ttl_s=3600)
    tokens = {shard: await leases.acquire(f"shard:{shard}", holder) or 0 for shard in range(SHARDS)}
    store = RedisSessionStore(connection)
    async with anyio.create_task_group() as tasks:
        for first in range(_AT_ONCE):
            tasks.start_soon(_copy, store, tokens, whole, numbers[first::_AT_ONCE])
    for shard, token in tokens.items():
        await leases.release(f"shard:{shard}", holder, token)


async def _copy(
    store: RedisSessionStore, tokens: Mapping[int, int], whole: WholeSession, numbers: Sequence[int]
) -> None:
    for number in numbers:
        id_, address = SessionId(f"copy{number}"), room(number)
        shard = shard_of(address.key)
        facts = tuple(replace(fact, tape=TapeId(f"{id_}/{fact.tape.rpartition('/')[2]}")) for fact in whole.facts)
        record = dataclasses.replace(whole.record, id=id_, address=address, seq=0)
        lease = Lease(shard, tokens[shard])
        await store.commit(Commit(lease, id_, 0, facts=facts, awake=False, begin=record))
