"""The part of extensions in the channels of every session of a node, each in a task of its own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry, OnCreated
from runtime.channels.participant import Participant
from runtime.core.errors import QueueFull
from runtime.core.ids import GuestId, MessageId, StreamId
from runtime.core.message import Message, StreamChunk, StreamComplete, StreamObserver, StreamStart
from runtime.events.talk import MessageUndelivered, ObserverFailed, WatcherFailed

MAX_WAITING = 10_000
"""Calls that wait for one function of an extension; further ones are left out, and that is published."""

CALL_LIMIT_S = 30.0
"""How long one call of a function of an extension may take."""

OnMessage = Callable[[Message], Awaitable[None] | None]
OnStream = Callable[[StreamStart], Awaitable[None] | None]

OnDelivered = Callable[[MessageId, GuestId, bool], None]
"""Told of a message that is to be acknowledged, when a participant has it (True) or never will."""

_Failed = type[ObserverFailed] | type[WatcherFailed] | type[MessageUndelivered]


class ExtensionGuest(Struct, frozen=True):
    """A participant that programs speak to by its name.

    At most `parallel` messages are delivered at the same time; with 1 they come in order.
    """

    deliver: OnMessage
    parallel: int = 1


class ChannelExtension(Struct, frozen=True):
    """The functions and participants of one extension. Functions may be plain or async; `on_channel` is called before
    anything is said.
    """

    name: str
    observers: Sequence[StreamObserver] = ()
    on_channel: Sequence[OnCreated] = ()
    on_stream: Sequence[OnStream] = ()
    on_message: Sequence[OnMessage] = ()
    guests: Mapping[str, ExtensionGuest] = field(default_factory=dict)


class _Calls:
    """The calls of one function of an extension, `parallel` at a time. Who causes them never waits."""

    def __init__(self, failed: Callable[[str], None], parallel: int = 1) -> None:
        self._parallel = parallel
        self._send, self._receive = anyio.create_memory_object_stream[Callable[[], Awaitable[None] | None]](MAX_WAITING)
        self._failed = failed

    def put(self, call: Callable[[], Awaitable[None] | None]) -> bool:
        """Have a call made later; False where too many wait already."""
        try:
            self._send.send_nowait(call)
        except anyio.WouldBlock:
            self._failed(f"{MAX_WAITING:,} calls wait already; this one is left out")
            return False
        return True

    def start(self, tasks: TaskGroup) -> None:
        for _ in range(self._parallel):
            tasks.start_soon(self._run)

    async def _run(self) -> None:
        while True:
            call = await self._receive.receive()
            try:
                with anyio.fail_after(CALL_LIMIT_S):
                    outcome = call()
                    if inspect.isawaitable(outcome):
                        await outcome
            except TimeoutError:
                self._failed(f"it took longer than {CALL_LIMIT_S:g} s and was given up")
            except Exception as error:  # noqa: BLE001 - who watches must not harm who speaks; it is published
                self._failed(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        self._send.close()
        self._receive.close()


class _Follower(Struct, eq=False):
    """Hands the streams of all channels to an observer. Of a stream at which it raised, it gets only the end."""

    observer: StreamObserver
    calls: _Calls
    _failed: set[StreamId] = field(default_factory=set)

    async def on_stream_start(self, event: StreamStart, /) -> None:
        self.calls.put(partial(self._guarded, event.stream_id, partial(self.observer.on_stream_start, event)))

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        self.calls.put(partial(self._guarded, event.stream_id, partial(self.observer.on_stream_chunk, event)))

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        self.calls.put(partial(self._end, event))

    async def _guarded(self, stream: StreamId, call: Callable[[], Awaitable[None]]) -> None:
        if stream in self._failed:
            return
        try:
            await call()
        except BaseException:
            self._failed.add(stream)
            raise

    async def _end(self, event: StreamComplete) -> None:
        self._failed.discard(event.stream_id)
        await self.observer.on_stream_complete(event)


class _StreamCallback(Struct, eq=False):
    """Calls a function with each stream that begins."""

    function: OnStream
    calls: _Calls

    async def on_stream_start(self, event: StreamStart, /) -> None:
        self.calls.put(partial(self.function, event))

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        """Only the beginning is wanted."""

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        """Only the beginning is wanted."""


def _guest(name: str, function: OnMessage, calls: _Calls, delivered: OnDelivered) -> Participant:
    """A participant of an extension, in the channels of one session. It gets finished messages only."""
    id_ = GuestId.of(name)

    async def receipted(message: Message) -> None:
        has_it = False
        try:
            outcome = function(message)
            if inspect.isawaitable(outcome):
                await outcome
            has_it = True
        finally:
            delivered(message.id, id_, has_it)

    def deliver(message: Message) -> None:
        if not calls.put(partial(receipted if message.ack_required else function, message)):
            raise QueueFull(f"{MAX_WAITING:,} messages wait for {name} already; it takes no more now")

    return Participant(id_, name, deliver)


class ExtendedChannels:
    def __init__(self, extensions: Sequence[ChannelExtension], bus: Bus) -> None:
        self._bus = bus
        self._queues: list[_Calls] = []
        self._on_created: list[OnCreated] = []
        self._followers: list[StreamObserver] = []
        self._on_message: list[tuple[OnMessage, _Calls]] = []
        self._guests: dict[str, tuple[OnMessage, _Calls]] = {}
        for one in extensions:
            self._on_created += one.on_channel
            self._followers += [_Follower(o, self._calls(one, ObserverFailed)) for o in one.observers]
            self._followers += [_StreamCallback(f, self._calls(one, ObserverFailed)) for f in one.on_stream]
            self._on_message += [(f, self._calls(one, WatcherFailed)) for f in one.on_message]
            for name, guest in one.guests.items():
                calls = self._calls(one, MessageUndelivered, guest.parallel)
                self._guests[name] = (guest.deliver, calls)

    def _calls(self, extension: ChannelExtension, failed: _Failed, parallel: int = 1) -> _Calls:
        calls = _Calls(lambda error: self._bus.publish(failed(error, extension=extension.name)), parallel)
        self._queues.append(calls)
        return calls

    def guests(self, delivered: OnDelivered) -> dict[str, Participant]:
        return {name: _guest(name, *guest, delivered) for name, guest in self._guests.items()}

    async def run(self) -> None:
        """Call what extensions want called, until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                for calls in self._queues:
                    calls.start(tasks)
        finally:
            self.close()

    def close(self) -> None:
        for calls in self._queues:
            calls.close()

    def attach(self, channels: ChannelRegistry) -> None:
        """Follow every channel that is made here from now on, from its first word."""
        if self._followers or self._on_message:
            channels.on_created(self._follow)
        for callback in self._on_created:
            channels.on_created(callback)

    def _follow(self, channel: Channel) -> None:
        for follower in self._followers:
            channel.add_observer(follower)
        if self._on_message:
            channel.on_message(self._tell)

    def _tell(self, _channel: Channel, message: Message) -> None:
        for function, calls in self._on_message:
            calls.put(partial(function, message))
