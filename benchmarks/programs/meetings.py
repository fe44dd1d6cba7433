"""Meetings of many agents in one process: `python -m benchmarks.programs.meetings`.

A broadcast goes through a meeting's channel into the queue of every other participant, in memory, without a model and
without storage: from the call of `Channel.send` until all queues have the message. `RECORDED` is what the first
implementation of the language did for the same on this kind of machine: it was measured there and is not run here.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from benchmarks.table import Row, show
from runtime.bus import Bus
from runtime.channels.channel import ChannelRegistry
from runtime.channels.message_queue import MessageBatcher, MessageQueue
from runtime.channels.participant import Participant
from runtime.core.clock import SystemClock
from runtime.core.ids import AgentId, MeetingId, new_message_id
from runtime.core.message import Message, MessageType
from runtime.execution.frames.loop import FrameLoop
from runtime.language.diagnostics import Span
from runtime.language.program import (
    AgentKind,
    AgentSpec,
    PlaybookSpec,
    Program,
    PythonFence,
    Trigger,
    TriggerKind,
)
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, talking

RECORDED = 28_600
"""Deliveries a second of the first implementation with 10 participants: 2,860 broadcasts, until they were in queues."""

TIMES = 20
"""At least so many times as many are held."""

ROUNDS = 5
DELIVERIES = 200_000
"""So many in a round, however many participants a meeting has."""

AT = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN = Span("crowd.pb", 1)

SIZES = (10, 100, 1_000)
AGENTS = (1_000, 10_000)
HALLS = (100, 990)
"""Agents of a session that meet; it may have 1,000 in all."""


def _messages(sender: AgentId, meeting: MeetingId, count: int) -> Sequence[Message]:
    first = Message(
        new_message_id(), sender, "Agent", "Hello", AT, type=MessageType.MEETING_BROADCAST, meeting_id=meeting
    )
    return [replace(first, id=new_message_id()) for _ in range(count)]


def _addresses(agent: AgentId, message: Message) -> bool:
    return message.addresses(agent)


class Meeting:
    """A meeting's channel, whose participants have queues. With `tasks` what is said is collected as agents have it."""

    def __init__(self, channels: ChannelRegistry, number: int, size: int, tasks: TaskGroup | None = None) -> None:
        clock = SystemClock()
        self.id = MeetingId(str(number))
        self.queues = [MessageQueue(10 * DELIVERIES, clock) for _ in range(size)]
        self.agents = [AgentId(f"{number}{place:04d}") for place in range(size)]
        self.batchers: list[MessageBatcher] = []
        accepts: list[Callable[[Message], None]] = [queue.put for queue in self.queues]
        if tasks is not None:
            pairs = zip(self.queues, self.agents, strict=True)
            self.batchers = [
                MessageBatcher(queue.put_all, clock, tasks, partial(_addresses, agent)) for queue, agent in pairs
            ]
            accepts = [batcher.add for batcher in self.batchers]
        members = [Participant(id_, "Agent", accept) for id_, accept in zip(self.agents, accepts, strict=True)]
        self.channel = channels.meeting(self.id, members)

    async def broadcast(self, messages: Sequence[Message]) -> None:
        """Say everything, until it is in all queues."""
        send = self.channel.send
        for message in messages:
            await send(message)
        for batcher in self.batchers:
            batcher.flush()

    def empty(self) -> int:
        """Take everything out of the queues; how much there was."""
        return sum(len(queue.take(max_messages=len(queue))) for queue in self.queues)


async def broadcasts(size: int, *, collected: bool = False) -> tuple[float, float]:
    """Deliveries a second in one meeting of so many, and those of a loop that appends to lists; of the best rounds."""
    ours, bare = [], []
    async with anyio.create_task_group() as tasks:
        meeting = Meeting(ChannelRegistry(Bus(SystemClock())), 100, size, tasks if collected else None)
        for _ in range(ROUNDS):
            messages = _messages(meeting.agents[0], meeting.id, DELIVERIES // (size - 1))
            deliveries = len(messages) * (size - 1)
            began = time.perf_counter()
            await meeting.broadcast(messages)
            ours.append(deliveries / (time.perf_counter() - began))
            if meeting.empty() != deliveries:
                raise AssertionError("a queue lacks a message")
            bare.append(deliveries / _appended(messages, size - 1))
        tasks.cancel_scope.cancel()
    return max(ours), max(bare)


def _appended(messages: Sequence[Message], size: int) -> float:
    """Seconds for appending every message to so many lists and nothing else."""
    queues: list[deque[Message]] = [deque() for _ in range(size)]
    began = time.perf_counter()
    for message in messages:
        for queue in queues:
            queue.append(message)
    return time.perf_counter() - began


async def among(meetings: int, large: int = 0) -> float:
    """Microseconds for a broadcast to ten while there are so many meetings in the process, each with its own agents.

    With them, there is one of so many as `large` says.
    """
    channels, took = ChannelRegistry(Bus(SystemClock())), []
    held = [Meeting(channels, 100 + number, 10) for number in range(meetings)]
    hall = Meeting(channels, 99, large) if large else None
    for _ in range(ROUNDS):
        messages = [_messages(meeting.agents[0], meeting.id, 20_000 // meetings) for meeting in held]
        if hall is not None:
            await hall.broadcast(_messages(hall.agents[0], hall.id, 10))
        began = time.perf_counter()
        for meeting, said in zip(held, messages, strict=True):
            await meeting.broadcast(said)
        took.append((time.perf_counter() - began) / sum(map(len, messages)) * 1e6)
        expected = sum(map(len, messages)) * 9
        if sum(meeting.empty() for meeting in held) != expected:
            raise AssertionError("a queue lacks a message")
    if hall is not None and hall.empty() != ROUNDS * 10 * (large - 1):
        raise AssertionError("a queue of the large meeting lacks a message")
    return statistics.median(took)


def _crowd(count: int) -> Program:
    agents = [AgentSpec(f"Agent{n}", AgentKind.AI, _SPAN, metadata={"startup_mode": "standby"}) for n in range(count)]
    return Program("crowd", tuple(agents), "", "1")


async def population(count: int, measure: Callable[[], float]) -> float:
    """By how much `measure` grows from a person's first word until a session has made so many agents, which listen."""
    async with talking(_crowd(count), Model(), MontySandbox(max_workers=1)) as talk:
        before = measure()
        await talk.say("hello")
        grown = measure() - before
        made = len(talk.facts("agent"))
    if made != count:
        raise AssertionError(f"{made} agents were made, not {count}")
    return grown


def agent_us(count: int) -> float:
    """Microseconds for each of so many agents, without the garbage collector's looks at all that lives."""
    gc.collect()
    gc.disable()
    try:
        return anyio.run(population, count, time.perf_counter) / count * 1e6
    finally:
        gc.enable()


def agent_kib(count: int) -> float:
    """KiB that each of so many agents takes, its facts included."""

    def allocated() -> float:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / 1024

    tracemalloc.start()
    try:
        return anyio.run(population, count, allocated) / count
    finally:
        tracemalloc.stop()


_HOST = """
async def Main():
    agents = [await CreateAgent("Guest") for _ in range(COUNT)]
    await Talk(attendees=agents)
    await Say("user", "done")
    await WaitForMessage("user")

async def Talk():
    for number in range(5):
        await Say("meeting", f"news {number}")
"""
_GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
"""


def _meeting_host(count: int) -> Program:
    """A host that meets so many guests, says five things to them, and ends the meeting."""

    def playbook(name: str, *triggers: Trigger, **metadata: object) -> PlaybookSpec:
        return PlaybookSpec(name, "python", _SPAN, metadata=metadata, triggers=triggers)

    begins = Trigger("T1", TriggerKind.BGN, "When program starts", _SPAN)
    main, talk = playbook("Main", begins), playbook("Talk", meeting=True)
    fence = PythonFence(f"COUNT = {count}\n{_HOST}", _SPAN)
    host = AgentSpec("Host", AgentKind.AI, _SPAN, playbooks=(main, talk), fences=(fence,))
    joins = (playbook("Join", meeting=True),)
    guest = AgentSpec("Guest", AgentKind.AI, _SPAN, playbooks=joins, fences=(PythonFence(_GUEST, _SPAN),))
    return Program("hall", (host, guest), "", "1")


async def meeting_ms(count: int) -> float:
    """Milliseconds of the processor for each of so many agents that are made, invited, told five things and let go."""
    async with talking(_meeting_host(count), Model(), MontySandbox(max_workers=1)) as talk:
        began = time.process_time()
        shown = await talk.say("hello")
        took = time.process_time() - began
    if shown[-1:] != ["done"]:
        raise AssertionError(f"the meeting came to {shown[-1:]}")
    return took / count * 1e3


def met_ms(count: int) -> float:
    """The least of some rounds: what the others are more is not ours."""
    options = {"loop_factory": FrameLoop}
    return min(anyio.run(meeting_ms, count, backend="asyncio", backend_options=options) for _ in range(3))


def run() -> list[Row]:
    """The rows of the table for meetings."""
    rows, each_ns = [], {}
    for size in SIZES:
        ours, bare = anyio.run(broadcasts, size)
        each_ns[size] = 1e9 / ours
        rows.append(Row(f"deliveries in a meeting of {size:,}", ours, "1/s", bare, "bare appends"))
    collected, bare = anyio.run(partial(broadcasts, SIZES[0], collected=True))
    few, many = anyio.run(among, 1), anyio.run(among, 1_000, 1_000)
    us = {count: agent_us(count) for count in AGENTS}
    kib = {count: agent_kib(count) for count in AGENTS}
    fewest, most = min(AGENTS), max(AGENTS)
    small, large = met_ms(HALLS[0]), met_ms(HALLS[1])
    recorded = f"{RECORDED:,} of the first implementation, as recorded"
    return [
        *rows,
        Row("deliveries in a meeting of 10, collected for agents", collected, "1/s", bare, "bare appends"),
        Row("deliveries in a meeting of 10", 1e9 / each_ns[10], "1/s", RECORDED, recorded, f"≥ {TIMES}"),
        Row("deliveries in a meeting of 10, collected", collected, "1/s", RECORDED, recorded, f"≥ {TIMES}"),
        Row("a delivery in a meeting of 1,000", each_ns[1_000], "ns", each_ns[10], "in one of 10", "~ 1: linear"),
        Row(
            f"an agent in a whole meeting of {HALLS[1]:,}", large, "ms", small, f"in one of {HALLS[0]:,}", "~ 1: linear"
        ),
        Row("a broadcast to 10, among 1,000 meetings and one of 1,000", many, "µs", few, "alone", "~ 1"),
        Row(f"an agent of a session with {most:,}", us[most], "µs", us[fewest], f"with {fewest:,}", "~ 1: linear"),
        Row(
            f"a session's {most:,} agents, with garbage collection", anyio.run(population, most, time.perf_counter), "s"
        ),
        Row(f"an agent of a session with {most:,}", kib[most], "KiB", kib[fewest], f"with {fewest:,}", "~ 1: linear"),
    ]


if __name__ == "__main__":
    print(show(run()))
