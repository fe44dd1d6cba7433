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

from benchmarks.table import Row
from gateway.node import Node
from gateway.roster import Roster
from runtime.bus import Bus
from runtime.channels.outbox import Done, PageRecord, PageSpec, unheard
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.message import Mark
from runtime.execution.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.rules import RulesLowerer
from runtime.llm.client import CompletionRequest, Usage
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.inbox import InboxEvent, shard_of
from runtime.sessions.registry import Registry
from runtime.sessions.store import LeaseHolder
from runtime.sessions.surroundings import Surroundings
from runtime.storage.embedded import EmbeddedValkey
from runtime.storage.redis.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.nodes import RedisNodeStore
from runtime.storage.redis.session_store import RedisSessionStore

ROUNDS = 200
PROGRAM = """\
# Echo

## Main
### Triggers
- When program starts
### Steps
- While the user writes
  - Ask the user what they want
"""
REPLY = '```python\nawait Step("Main:01:CND")\nawait Step("Main:01.01:QUE")\nawait Yld("user")\n```'


class _Model:
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


class _Nobody:
    """Nobody looks."""

    def page(self, _spec: PageSpec, _record: PageRecord, /) -> _Nobody:
        return self

    def update(self, _text: str, /) -> None:
        """Not shown."""

    def ends(self) -> None:
        """Not shown."""

    async def finish(self, _text: str, /) -> bool:
        return True

    async def rest(self) -> None:
        """Nothing is on its way for longer than a moment."""

    def abandon(self) -> None:
        """Not shown."""

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        """Not shown."""

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """Not shown."""
        return False

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """There are none."""
        return None

    async def link(self, _to: Address, /) -> str | None:
        """There are none."""
        return None

    def settle(self, _page: PageSpec, _text: str, /, *, done: Done = unheard) -> None:
        """Not shown."""


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
            around = Surroundings({program.name: program}, store, _Nobody(), sandbox, model, clock, bus)
            registry = Registry(around, inbox, tasks)
            roster = Roster(RedisNodeStore(connection), LeaseHolder("bench"), clock)
            node = Node(RedisLeaseStore(connection), inbox, roster, bus)
            await node.run(tasks, registry)
            for number in range(ROUNDS + 20):
                model.asked = anyio.Event()
                event = InboxEvent(str(number), Address("bench", "1"), "bench:1", "Ada", "next", clock.now())
                began = time.perf_counter()
                await inbox.add(event)
                await model.asked.wait()
                taken.append(model.asked_at - began)
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        floor = await _floor(inbox, clock)
    return taken[20:], floor


async def _floor(inbox: RedisInbox, clock: SystemClock) -> list[float]:
    """The inbox alone: added, and read by a waiting reader."""
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
    return taken


def run() -> list[Row]:
    """One row: the median, beside the inbox alone."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        taken, floor = runner.run(_measure())
    value, ground = statistics.median(taken) * 1000, statistics.median(floor) * 1000
    return [Row("chat event to model request, p50", value, "ms", ground, "the inbox alone", "< 5 ms")]
