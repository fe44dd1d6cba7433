"""Messages and stream chunks through channels: `python -m benchmarks.programs.routing`."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import anyio

from benchmarks.table import Row, show
from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Participant
from runtime.core.clock import SystemClock
from runtime.core.ids import AgentId, MessageId, StreamId
from runtime.core.message import Message, StreamChunk, StreamComplete, StreamStart

A, B, C = AgentId("1000"), AgentId("1001"), AgentId("1002")
MESSAGES = 50_000
BURST = 500
CHUNKS = 100_000
HOPS = 2_000
ROUNDS = 5


class Conversation:
    """Agents A and B, the channel between them and B's queue."""

    def __init__(self) -> None:
        clock = SystemClock()
        self._channels = ChannelRegistry(Bus(clock))
        self.queue = MessageQueue(MESSAGES, clock)
        self._a = Participant(A, "A", lambda _: None)
        self._b = Participant(B, "B", self.queue.put)
        self._now = clock.now()

    @property
    def channel(self) -> Channel:
        """Looked up as for every message."""
        return self._channels.direct(self._a, self._b)

    def message(self, number: int, sender: AgentId = A) -> Message:
        """What A says to B."""
        return Message(MessageId(str(number)), sender, "A", "hello", self._now, B, "B")


class Counter:
    """The smallest observer."""

    def __init__(self) -> None:
        self.characters = 0

    async def on_stream_start(self, event: StreamStart, /) -> None: ...

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        self.characters += len(event.text)

    async def on_stream_complete(self, event: StreamComplete, /) -> None: ...


async def route() -> None:
    """Messages made, sent through the channel into the queue and read, in bursts."""
    conversation = Conversation()
    for begin in range(0, MESSAGES, BURST):
        for number in range(begin, begin + BURST):
            await conversation.channel.send(conversation.message(number))
        for _ in range(BURST):
            await conversation.queue.get()


async def route_bare() -> None:
    """The same messages through an asyncio queue."""
    conversation = Conversation()
    queue: asyncio.Queue[Message] = asyncio.Queue(MESSAGES)
    for begin in range(0, MESSAGES, BURST):
        for number in range(begin, begin + BURST):
            await queue.put(conversation.message(number))
        for _ in range(BURST):
            await queue.get()


async def stream() -> None:
    """Chunks to one observer."""
    conversation = Conversation()
    counter = Counter()
    channel, stream_id = conversation.channel, StreamId("s")
    channel.add_observer(counter)
    await channel.start_stream(StreamStart(stream_id, channel.id, A, "A", B))
    for _ in range(CHUNKS):
        await channel.stream_chunk(stream_id, "word ")
    await channel.complete_stream(stream_id, None)
    if counter.characters != CHUNKS * len("word "):
        raise RuntimeError("chunks were lost")


async def stream_bare() -> None:
    """The observer's method, awaited."""
    counter, stream_id = Counter(), StreamId("s")
    for _ in range(CHUNKS):
        await counter.on_stream_chunk(StreamChunk(stream_id, "word ", B))


async def latency_s() -> float:
    """From one agent's send to the other's having read it, with nothing else going on: the median."""
    conversation = Conversation()
    return await _median_hop(
        lambda number: conversation.channel.send(conversation.message(number)), conversation.queue.get
    )


async def latency_bare_s() -> float:
    """The same hop between two tasks by an asyncio queue."""
    conversation = Conversation()
    queue: asyncio.Queue[Message] = asyncio.Queue()
    return await _median_hop(lambda number: queue.put(conversation.message(number)), queue.get)


async def _median_hop(send: Callable[[int], Awaitable[object]], receive: Callable[[], Awaitable[Message]]) -> float:
    hops: list[float] = []
    sent_at = 0.0
    arrived = asyncio.Event()

    async def read() -> None:
        for _ in range(HOPS):
            await receive()
            hops.append(time.perf_counter() - sent_at)
            arrived.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for number in range(HOPS):
            await asyncio.sleep(0)
            arrived.clear()
            sent_at = time.perf_counter()
            await send(number)
            await arrived.wait()
    return statistics.median(hops)


def rates(work: Callable[[], Awaitable[None]], bare: Callable[[], Awaitable[None]], count: int) -> tuple[float, float]:
    """Operations per second of both, the best of rounds that take turns."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, action in enumerate((work, bare)):
            best[place] = min(best[place], anyio.run(_timed, action))
    return count / best[0], count / best[1]


async def _timed(action: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await action()
    return time.perf_counter() - begun


def run() -> list[Row]:
    """All figures."""
    routed, floor = rates(route, route_bare, MESSAGES)
    chunks, chunk_floor = rates(stream, stream_bare, CHUNKS)
    hop_us, hop_floor_us = anyio.run(latency_s) * 1e6, anyio.run(latency_bare_s) * 1e6
    return [
        Row("messages through channel and queue", routed, "/s", floor, "asyncio.Queue", "> 100,000/s"),
        Row("chunks to one observer", chunks, "/s", chunk_floor, "awaited method", "> 500,000/s"),
        Row("agent to agent, idle", hop_us, "µs", hop_floor_us, "asyncio.Queue", "< 1,000 µs"),
    ]


if __name__ == "__main__":
    print(show(run()))
