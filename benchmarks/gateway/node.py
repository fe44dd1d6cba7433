"""A node without platforms, as a process of its own: `python -m benchmarks.gateway.node SOCKET NAME ANSWER_S`.

It writes a line on standard output for what happens: `ready`, `heard MS` (from the event's making to the agent's
queue), `answered ID`; and `memory BYTES` whenever it reads a line. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import anyio

from benchmarks.nobody import Nobody, Unseen
from gateway.__main__ import collect_rarely
from gateway.assembly.foundation import renewal_of
from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.page import PageRecord, PageSpec
from runtime.events.talk import MessageReceived
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.llm.client import CompletionRequest, LLMClient, Usage
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import LeaseHolder

PROGRAM = """\
# Echo

## Main
### Triggers
- When program starts
### Steps
- While True
  - Ask the user what they want
"""
_WORDS = 60
_PIECES = 20


def _tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class _Model(LLMClient):
    """Writes an answer of 60 words, in 20 pieces over `answer_s`."""

    model = "stub"

    def __init__(self, answer_s: float) -> None:
        self.answer_s = answer_s

    @asynccontextmanager
    async def stream(self, _request: CompletionRequest, /) -> AsyncIterator[_Answer]:
        yield _Answer(self.answer_s)


class _Answer:
    usage = Usage()

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s

    async def __aiter__(self) -> AsyncIterator[str]:
        for _ in range(_PIECES):
            if self._answer_s:
                await anyio.sleep(self._answer_s / _PIECES)
            yield "words " * (_WORDS // _PIECES)


class _Crowd(Nobody):
    """People who look at nothing; a text that is complete is told."""

    def page(self, spec: PageSpec, _record: PageRecord, /) -> _Told:
        return _Told(spec)


class _Told(Unseen):
    """A page whose end is told."""

    async def finish(self, _text: str, /) -> bool:
        _tell("answered", self.spec.address.conversation)
        return True


def _resident_bytes() -> int:
    """The process's memory: the second figure of /proc/self/statm, in pages (proc(5))."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _answer_questions(stop: anyio.CancelScope) -> None:
    while await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
        _tell("memory", _resident_bytes())
    stop.cancel()


def _heard(what: MessageReceived, _at: datetime) -> None:
    made_at = float(what.message_id.rpartition("@")[2])
    _tell("heard", f"{(time.time() - made_at) * 1000:.3f}")


async def compiled() -> Program:
    """The program that every node serves."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "echo.pb"
        await anyio.Path(source).write_text(PROGRAM)
        return (await compile_program([source], lowerer=RulesLowerer())).program


async def serve(socket: Path, name: str, answer_s: float) -> None:
    """Serve until standard input ends."""
    clock = SystemClock()
    bus = Bus(clock)
    program = await compiled()
    async with MontySandbox() as sandbox, open_connection(socket) as connection, anyio.create_task_group() as tasks:
        inbox = RedisInbox(connection)
        store = RedisSessionStore(connection)
        around = NodeContext({program.name: program}, store, _Crowd(), sandbox, _Model(answer_s), bus)
        registry = ConversationRegistry(around, inbox, tasks)
        bus.hear(MessageReceived, _heard)
        holder = LeaseHolder(name)
        roster, renewal = (
            ClusterRoster(RedisNodeStore(connection), holder, clock),
            renewal_of(connection, holder, clock),
        )
        node = ClusterNode(RedisLeaseStore(connection), inbox, roster, renewal, bus)
        await node.run(tasks, registry)
        collect_rarely()
        _tell("ready")
        await _answer_questions(tasks.cancel_scope)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
