"""From a chat event to the model request leaving, through inbox, shard reader, session, tape and prompt."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from benchmarks.nobody import Nobody
from benchmarks.table import Row
from gateway.assembly.foundation import renewal_of
from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.llm.client import CompletionRequest, LLMClient, Usage
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import LeaseHolder

ROUNDS = 200
QUIET_S = 0.02
"""An event comes when the process has rested for so long: else it would wait for what the one before it left to do."""
RESTS_BELOW = 0.1
"""A process that uses less than this part of a processor rests: it only looks after what it holds."""
PROGRAM = """\
# Echo

## Main
### Triggers
- When program starts
### Steps
- While True
  - Ask the user what they want
"""
REPLY = "What would you like to have?"


class _Model(LLMClient):
    """Answers at once, and notes when it was asked."""

    model = "stub"

    def __init__(self) -> None:
        self.asked_at = 0.0
        self.asked = anyio.Event()

    @asynccontextmanager
    async def stream(self, _request: CompletionRequest, /) -> AsyncIterator[_Answer]:
        self.asked_at = time.perf_counter()
        self.asked.set()
        yield _Answer()


class _Answer:
    usage = Usage()

    async def __aiter__(self) -> AsyncIterator[str]:
        yield REPLY


async def _measure() -> tuple[list[float], list[float]]:
    clock = SystemClock()
    bus = Bus(clock)
    model = _Model()
    taken: list[float] = []
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source = directory / "echo.pb"
        await anyio.Path(source).write_text(PROGRAM)
        program = (await compile_program([source], lowerer=RulesLowerer())).program
        sandbox = await stack.enter_async_context(MontySandbox())
        socket = await stack.enter_async_context(EmbeddedValkey(directory / "data"))
        connection = await stack.enter_async_context(open_connection(socket))
        inbox = RedisInbox(connection)
        store = RedisSessionStore(connection)
        async with anyio.create_task_group() as tasks:
            around = NodeContext({program.name: program}, store, Nobody(), sandbox, model, bus)
            registry = ConversationRegistry(around, inbox, tasks)
            holder = LeaseHolder("bench")
            roster, renewal = (
                ClusterRoster(RedisNodeStore(connection), holder, clock),
                renewal_of(connection, holder, clock),
            )
            node = ClusterNode(RedisLeaseStore(connection), inbox, roster, renewal, bus)
            await node.run(tasks, registry)
            for number in range(ROUNDS + 20):
                model.asked = anyio.Event()
                event = InboxEvent(
                    str(number), Address("bench", "1"), "bench:1", "Ada", "next", clock.now(), program=program.name
                )
                began = time.perf_counter()
                await inbox.add(event)
                await model.asked.wait()
                taken.append(model.asked_at - began)
                await _rest()
            tasks.cancel_scope.cancel()
        floor = await _floor(inbox, clock)
    return taken[20:], floor


async def _rest() -> None:
    """Return when nothing is left to do."""
    busy_s = QUIET_S
    while busy_s >= RESTS_BELOW * QUIET_S:
        before_s = time.process_time()
        await anyio.sleep(QUIET_S)
        busy_s = time.process_time() - before_s


async def _floor(inbox: RedisInbox, clock: SystemClock) -> list[float]:
    """The inbox alone: added, and read by a waiting reader, after a rest as long as before each event."""
    taken: list[float] = []
    after = "0"
    address = Address("floor", "1")
    shard = shard_of(address.key)
    for number in range(ROUNDS):
        event = InboxEvent(f"f{number}", address, "bench:1", "Ada", "next", clock.now())
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inbox.add, event)
            entries = await inbox.read({shard: after}, wait_s=5)
        after = entries[-1].entry_id
        taken.append(time.perf_counter() - began)
        await _rest()
    return taken


def run() -> list[Row]:
    """One row: the median, beside the inbox alone."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        taken, floor = runner.run(_measure())
    value, ground = statistics.median(taken) * 1000, statistics.median(floor) * 1000
    return [Row("chat event to model request, p50", value, "ms", ground, "the inbox alone", "< 5 ms, < 5 of the floor")]
