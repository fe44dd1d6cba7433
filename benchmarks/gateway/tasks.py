"""Times until tasks begin and are answered, and the cost of waiting: `python -m benchmarks.gateway.tasks [WAITING]`."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio

from benchmarks.nobody import Awaiting
from benchmarks.table import Row, show
from gateway.assembly.foundation import renewal_of
from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from gateway.features.tasks.node import NodeTasks
from runtime.bus import Bus
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.idle import RestingSessions, TimerAlarm
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore, RedisTimers
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import TASK, InboxEvent, shard_of
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.tape import Fact, session_tape
from tests.fakes.people.talk import Model
from tests.unit.runtime.sessions import programs as small

ORDERED = 300
WAITING = 1_000
AT = datetime(2026, 1, 1, tzinfo=UTC)
IDLE_S = 0.5
LONG_S = 1_000_000.0
_AT_ONCE = 64
_LOOK_S, _MAX_LOOKS = 0.2, 10_000

MAIN = f"""
async def Main():
    for number in range({ORDERED}):
        await Result(await Spawn("Runner", "Fetch", [number]))
    await Say("user", "done")
"""

RUNNER = f"""
async def Fetch(number):
    return number

async def Wait():
    await Sleep({LONG_S / 2})
"""


class _Timed(RedisSessionStore):
    """Knows when the facts of tasks were noted, and when they were durable; in seconds since the epoch, by task."""

    def __init__(self, connection: RedisConnection) -> None:
        super().__init__(connection)
        self.ordered: dict[str, float] = {}
        self.begun: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.over: list[tuple[int, float]] = []
        self._numbers: dict[str, int] = {}

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        now_s = time.time()
        for fact in commit.facts:
            if fact.kind == "spawn":
                self.ordered[fact.data["task"]] = fact.at.timestamp()
            elif fact.kind == "order":
                self.begun[commit.session] = now_s
                self._numbers[commit.session] = fact.data["number"]
            elif fact.kind == "order_over":
                self.done[commit.session] = fact.at.timestamp()
            elif fact.kind == "task_over":
                self.over.append((fact.data["task"], now_s))

    def to_first_fact_ms(self) -> list[float]:
        """From each order to the task's first durable fact."""
        return [(self.begun[task] - at) * 1000 for task, at in self.ordered.items()]

    def to_orderer_ms(self) -> list[float]:
        """From the end of each task to the orderer's durable fact of it."""
        done = {self._numbers[task]: at for task, at in self.done.items()}
        return [(at - done[number]) * 1000 for number, at in self.over]


@dataclass(frozen=True)
class _House:
    connection: RedisConnection
    inbox: RedisInbox
    store: _Timed
    crowd: Awaiting
    registry: ConversationRegistry


@asynccontextmanager
async def _house() -> AsyncIterator[_House]:
    """A node on a server of its own, which serves a program that orders tasks."""
    can = small.python("Fetch", "number", public=True), small.python("Wait", public=True)
    main = small.agent("Main", small.python("Main", trigger="BGN When program starts"), code=MAIN)
    program = small.program(main, small.agent("Runner", *can, code=RUNNER))
    clock = SystemClock()
    bus = Bus(clock)
    with tempfile.TemporaryDirectory() as directory:
        async with (
            EmbeddedValkey(Path(directory)) as socket,
            open_connection(socket) as connection,
            MontySandbox(max_workers=1) as sandbox,
            anyio.create_task_group() as tasks,
        ):
            inbox, store, crowd = RedisInbox(connection), _Timed(connection), Awaiting()
            alarm = TimerAlarm(RedisTimers(connection), store, inbox, clock)
            tasks.start_soon(alarm.run)
            around = NodeContext(
                *({program.name: program}, store, crowd, sandbox, Model(), bus),
                resting=RestingSessions(idle_s=IDLE_S, alarm=alarm),
                features=[NodeTasks(TaskLimits())],
            )
            registry, holder = ConversationRegistry(around, inbox, tasks), LeaseHolder("bench")
            roster, renewal = (
                ClusterRoster(RedisNodeStore(connection), holder, clock),
                renewal_of(connection, holder, clock),
            )
            node = ClusterNode(RedisLeaseStore(connection), inbox, roster, renewal, bus)
            await node.run(tasks, registry)
            yield _House(connection, inbox, store, crowd, registry)
            tasks.cancel_scope.cancel()


async def _floor_ms() -> tuple[list[float], float]:
    """What neither an order nor a result can do without, bare: a commit, an event into an inbox, its reading there, and
    the commit that takes it. Then the processor's time for one of them."""
    session, here, found = SessionId("bare"), Address("bench", "bare"), []
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedValkey(Path(directory)) as socket, open_connection(socket) as connection:
            shard = shard_of(here.key)
            token = await RedisLeaseStore(connection).acquire(f"shard:{shard}", LeaseHolder("floor", ttl_s=600.0))
            assert token is not None
            lease, store, inbox = Lease(shard, token), RedisSessionStore(connection), RedisInbox(connection)
            await store.commit(Commit(lease, session, 0, begin=SessionRecord(session, here, "bench", AT, 0)))
            used = time.process_time()
            for number in range(ORDERED):
                began = time.perf_counter()
                await store.commit(Commit(lease, session, 2 * number, facts=(_fact(session, 2 * number + 1),)))
                await inbox.add(InboxEvent(str(number), here, "", "", "x" * 300, AT))
                (entry,) = await inbox.read({shard: "0"}, wait_s=1)
                facts = (_fact(session, 2 * number + 2),)
                await store.commit(Commit(lease, session, 2 * number + 1, facts=facts, consume=(entry.entry_id,)))
                found.append((time.perf_counter() - began) * 1000)
            used = time.process_time() - used
    return found, used * 1000 / ORDERED


def _fact(session: SessionId, seq: int) -> Fact:
    return Fact(session_tape(session), seq, "task_posted", AT, {"task": 1, "what": "order"})


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _waiting(house: _House, numbers: range) -> float:
    """KiB of memory that the tasks of these numbers leave, each, when they wait for a time and none is in memory."""
    here = address_data(Address(CLIENT, "bench"))
    due = time.time() + LONG_S
    before = _resident_bytes()
    async with anyio.create_task_group() as tasks:
        limit = anyio.Semaphore(_AT_ONCE)

        async def order(number: int) -> None:
            task = SessionId(f"waits-{number}")
            letter = TaskOrder(0, SessionId(""), "Runner", "Wait", {}, due, 1, here, here)
            async with limit:
                await house.inbox.add(InboxEvent(task, address_of(task), "", "", str(letter), AT, kind=TASK))

        for number in numbers:
            tasks.start_soon(order, number)
    for _ in range(_MAX_LOOKS):
        if len(house.store.begun) == numbers.stop + ORDERED and not len(house.registry):
            break
        await anyio.sleep(_LOOK_S)
    assert not len(house.registry)
    return (_resident_bytes() - before) / 1024 / len(numbers)


def _of(figures: Sequence[float], percent: int) -> float:
    return statistics.quantiles(figures, n=100)[percent - 1]


async def measure(waiting: int) -> list[Row]:
    """The rows, on an embedded server of their own."""
    async with _house() as house:
        used = time.process_time()
        await house.inbox.add(InboxEvent("1", Address("bench", "room"), "bench:1", "Ada", "go", datetime.now(UTC)))
        await house.crowd.answered.wait()
        used_ms = (time.process_time() - used) * 1000 / ORDERED
        first, over = house.store.to_first_fact_ms(), house.store.to_orderer_ms()
        half = waiting // 2
        await _waiting(house, range(half))  # what they all take at once, before they rest, is used again
        kib = await _waiting(house, range(half, waiting))
    floor, floor_used_ms = await _floor_ms()
    rows = []
    for name, figures in (("from a task's order to its first fact", first), ("from its end to its orderer", over)):
        for percent in (50, 99):
            held = "< 10" if percent == 50 else ""
            rows.append(Row(f"{name}, p{percent}", _of(figures, percent), "ms", _of(floor, percent), "bare", held))
    of_both = 2 * floor_used_ms
    rows.append(Row("processor time of a task, from order to result", used_ms, "ms", of_both, "bare, both ways"))
    return [*rows, Row(f"memory for each of {waiting:,} tasks that wait for a time, the second half", kib, "KiB")]


def run(waiting: int = WAITING) -> list[Row]:
    """The rows of this benchmark."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(measure(waiting))


if __name__ == "__main__":
    print(show(run(*map(int, sys.argv[1:2]))))
