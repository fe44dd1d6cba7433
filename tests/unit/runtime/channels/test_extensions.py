"""What extensions follow in channels: slow, raising and crowded ones harm nobody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels import extensions
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.channels.extensions import ChannelExtension, ExtendedChannels, ExtensionGuest
from runtime.core.errors import QueueFull
from runtime.core.ids import StreamId
from runtime.core.message import Message, StreamChunk, StreamComplete, StreamStart
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, agent, direct, texts


class Stand:
    """Channels with extensions, and what was published."""

    def __init__(self, *given: ChannelExtension) -> None:
        self.events: list[BusEvent] = []
        bus = Bus(FakeClock())
        bus.subscribe("*", self.events.append)
        self.extended = ExtendedChannels(given, bus)
        self._bus = bus
        self.channels = ChannelRegistry(bus)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ChannelRegistry]:
        async with anyio.create_task_group() as tasks:
            self.channels = ChannelRegistry(self._bus, tasks=tasks)
            self.extended.attach(self.channels)
            tasks.start_soon(self.extended.run)
            yield self.channels
            tasks.cancel_scope.cancel()

    def told(self, name: str) -> list[str]:
        return [f"{event.data.get('extension')}: {event.data['error']}" for event in self.events if event.name == name]


async def test_who_speaks_waits_for_no_function_of_an_extension() -> None:
    begun, never = anyio.Event(), anyio.Event()

    async def slow(_: Message) -> None:
        begun.set()
        await never.wait()

    got: list[Message] = []
    async with Stand(ChannelExtension("slow", on_message=[slow])).running() as channels:
        channel = channels.direct(agent(A), agent(B, got))
        await channel.send(direct("one"))
        await channel.send(direct("two"))
        assert texts(got) == ["one", "two"]
        await begun.wait()


async def test_a_function_that_raises_is_published_and_called_again() -> None:
    seen: list[str] = []
    done = anyio.Event()

    def fail_once(message: Message) -> None:
        seen.append(message.content)
        if len(seen) == 1:
            raise ValueError("no")
        done.set()

    stand = Stand(ChannelExtension("shaky", on_message=[fail_once]))
    async with stand.running() as channels:
        channel = channels.direct(agent(A), agent(B))
        await channel.send(direct("one"))
        await channel.send(direct("two"))
        await done.wait()
    assert seen == ["one", "two"]
    assert stand.told("channel.watcher_failed") == ["shaky: ValueError: no"]


async def test_an_async_callback_is_awaited_before_an_agent_speaks() -> None:
    go, order = anyio.Event(), list[str]()

    async def prepare(_: Channel) -> None:
        await go.wait()
        order.append("prepared")

    async with Stand(ChannelExtension("first", on_channel=[prepare])).running() as channels:
        channel = channels.direct(agent(A), agent(B))

        async def speak() -> None:
            await channel.opened()
            order.append("spoken")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(speak)
            for _ in range(5):
                await checkpoint()
            assert order == []
            go.set()
    assert order == ["prepared", "spoken"]


async def test_a_callback_that_is_never_done_keeps_nobody_waiting_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.channels.channel.OPENING_LIMIT_S", 0.01)
    stand = Stand(ChannelExtension("stuck", on_channel=[lambda _: anyio.sleep_forever()]))
    async with stand.running() as channels:
        await channels.direct(agent(A), agent(B)).opened()
    assert stand.told("channel.watcher_failed") == ["None: TimeoutError: "]


class Raising:
    """Raises at the first piece of each stream."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.ended = anyio.Event()

    async def on_stream_start(self, event: StreamStart, /) -> None:
        self.calls.append("start")

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        self.calls.append(event.text)
        raise RuntimeError("full disk")

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        self.calls.append("end")
        self.ended.set()


async def test_an_observer_that_raises_gets_only_the_end_of_that_stream() -> None:
    observer = Raising()
    stand = Stand(ChannelExtension("disk", observers=[observer]))
    async with stand.running() as channels:
        channel = channels.direct(agent(A), agent(B))
        await channel.start_stream(StreamStart(StreamId("s"), channel.id, A, "Agent", B))
        await channel.stream_chunk(StreamId("s"), "one ")
        await channel.stream_chunk(StreamId("s"), "two")
        await channel.complete_stream(StreamId("s"), replace(direct("one two"), stream_id=StreamId("s")))
        await observer.ended.wait()
    assert observer.calls == ["start", "one ", "end"]
    assert stand.told("stream.observer_failed") == ["disk: RuntimeError: full disk"]


async def test_messages_for_a_participant_are_delivered_together_up_to_its_limit() -> None:
    at_once: list[int] = []
    inside, released, both = set[str](), anyio.Event(), anyio.Event()

    async def deliver(message: Message) -> None:
        inside.add(message.content)
        at_once.append(len(inside))
        if len(inside) == 2:
            both.set()
        await released.wait()
        inside.discard(message.content)

    stand = Stand(ChannelExtension("pager", guests={"Pager": ExtensionGuest(deliver, parallel=2)}))
    async with stand.running() as channels:
        channel = channels.direct(agent(A), stand.extended.guests(lambda *_: None)["Pager"])
        for text in ("one", "two", "three"):
            await channel.send(direct(text))
        await both.wait()
        for _ in range(5):
            await checkpoint()
        assert at_once == [1, 2]
        released.set()
        while len(at_once) < 3:
            await checkpoint()


async def test_a_participant_with_too_much_waiting_refuses_and_the_sender_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extensions, "MAX_WAITING", 1)
    stand = Stand(ChannelExtension("pager", guests={"Pager": ExtensionGuest(lambda _: None)}))
    channel = stand.channels.direct(agent(A), stand.extended.guests(lambda *_: None)["Pager"])
    await channel.send(direct("one"))
    with pytest.raises(QueueFull, match="wait for Pager already"):
        await channel.send(direct("two"))
    stand.extended.close()
