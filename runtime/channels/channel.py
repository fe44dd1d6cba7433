"""The conduits among participants of a session, each made when it is first needed: whole messages, and streams of text
in progress.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from runtime.bus import Bus
from runtime.channels.participant import Ack, MessageAcknowledgements, Participant
from runtime.core.clock import SystemClock
from runtime.core.errors import RoutingError, UnknownStream
from runtime.core.ids import (
    ChannelId,
    MeetingId,
    MessageId,
    ParticipantId,
    StreamId,
    direct_channel_id,
    meeting_channel_id,
)
from runtime.core.message import Message, StreamChunk, StreamComplete, StreamObserver, StreamStart
from runtime.events import talk as happened
from runtime.events.happening import Happening

_MEETING_PREFIX = "meeting_"

OnMessage = Callable[["Channel", Message], None]
"""Called with each message before its delivery. Must be quick."""

OnCreated = Callable[["Channel"], Awaitable[None] | None]

OPENING_LIMIT_S = 5.0
"""The time for which the callbacks for a new channel may delay its first message."""


class _Stream(Struct):
    start: StreamStart
    observers: list[StreamObserver]
    failed: list[StreamObserver] = field(default_factory=list)
    shown: str = ""


class Channel:
    """Delivers to all participants but the sender, by one interface for two, for one to many and for a meeting.

    Streams are shown to the participants that want to watch them and to observers. An observer that raises is counted
    and published as `stream.observer_failed`; of that stream it gets only the end. Observers run inside the calls
    here, so they must be quick, and must not wait for a network here.
    """

    def __init__(
        self,
        channel_id: ChannelId,
        participants: Sequence[Participant],
        bus: Bus,
        acknowledgements: MessageAcknowledgements | None = None,
    ) -> None:
        if not channel_id or not participants:
            raise RoutingError(
                f"channel {channel_id!r} has {len(participants)} participants; it needs an id and at least one"
            )
        self.id = channel_id
        self._participants: dict[ParticipantId, Participant] = {p.id: p for p in participants}
        self._observers: list[tuple[StreamObserver, ParticipantId | None]] = []
        self._on_message: list[OnMessage] = []
        self._streams: dict[StreamId, _Stream] = {}
        self._opening: list[anyio.Event] = []
        self._bus = bus
        self.acknowledgements = acknowledgements or MessageAcknowledgements(SystemClock())
        self.failures = 0
        """The number of failed deliveries and of observers that raised."""

    @property
    def participants(self) -> tuple[Participant, ...]:
        return tuple(self._participants.values())

    @property
    def is_meeting(self) -> bool:
        return self.id.startswith(_MEETING_PREFIX)

    @property
    def is_direct(self) -> bool:
        return len(self._participants) == 2 and not self.is_meeting

    def participant(self, participant_id: ParticipantId) -> Participant | None:
        return self._participants.get(participant_id)

    def add_participant(self, participant: Participant) -> None:
        """Add a participant; one who is already here stays unchanged."""
        self._participants.setdefault(participant.id, participant)

    def remove_participant(self, participant_id: ParticipantId) -> None:
        self._participants.pop(participant_id, None)

    def add_observer(self, observer: StreamObserver, recipient_id: ParticipantId | None = None) -> None:
        """Show streams to `observer`: all of them, or those that `recipient_id` sees.

        Streams in progress are not shown to it. Adding it twice changes nothing.
        """
        if (observer, recipient_id) not in self._observers:
            self._observers.append((observer, recipient_id))

    def remove_observer(self, observer: StreamObserver) -> None:
        """Show it no streams that start from now on."""
        self._observers = [entry for entry in self._observers if entry[0] is not observer]

    def on_message(self, callback: OnMessage) -> None:
        """Call `callback` with each message that is sent here from now on. Adding it twice changes nothing."""
        if callback not in self._on_message:
            self._on_message.append(callback)

    def hold(self) -> anyio.Event:
        """Make `opened` wait until the event is set."""
        self._opening.append(anyio.Event())
        return self._opening[-1]

    async def prepare(self, preparation: Awaitable[None], done: anyio.Event, timeout_s: float) -> None:
        """Await the preparations for this channel, within a time limit, then set `done`.

        An error is counted and published as `channel.watcher_failed`.
        """
        try:
            with anyio.fail_after(timeout_s):
                await preparation
        except Exception as error:  # noqa: BLE001 - who watches must not harm who speaks
            self._count(happened.WatcherFailed(_text(error), self.id))
        finally:
            done.set()
            self._opening.remove(done)

    @property
    def is_opening(self) -> bool:
        return bool(self._opening)

    async def opened(self) -> None:
        """Return when all preparations before the first message are done."""
        for done in tuple(self._opening):
            await done.wait()

    def hearers(self, message: Message) -> list[Participant]:
        """Everybody but the sender, and the sender of a message addressed to themselves."""
        return [p for p in self._participants.values() if p.id != message.sender_id or message.recipient_id == p.id]

    async def send(self, message: Message) -> int:
        """Deliver to everybody but the sender, and to the sender what is addressed to itself; how many got it.

        Who cannot take it is counted and published as `message.undelivered`, and the others get it all the same. When
        nobody could take it, it is an error: the participant's own when it was one, else RoutingError. Who has it is
        to be asked of `wait_for_ack` when the message says that it is to be acknowledged.
        """
        self._tell_of(message)
        delivered = 0
        failures: list[Exception] = []
        hearers = self.hearers(message)
        if message.ack_required:
            self.acknowledgements.expect(message.id, [participant.id for participant in hearers])
        for participant in hearers:
            try:
                taking = participant.deliver(message)
                if taking is not None:
                    await taking
                delivered += 1
            except Exception as error:  # noqa: BLE001 - one participant must not keep it from the others; told below
                failures.append(error)
                self._tell_undelivered(message, participant, error)
        if failures and not delivered:
            if len(failures) == 1:
                raise failures[0]
            raise RoutingError(f"message {message.id} reached nobody in {self.id}: {failures[0]}") from failures[0]
        return delivered

    def _tell_of(self, message: Message) -> None:
        for callback in tuple(self._on_message):
            try:
                callback(self, message)
            except Exception as error:  # noqa: BLE001 - who watches must not harm who speaks
                self._count(happened.WatcherFailed(_text(error), self.id))

    def hand(self, message: Message, to: Participant) -> None:
        """`send` to the one who hears it, an agent of this session: what is said to it directly it takes at once."""
        self._tell_of(message)
        try:
            to.deliver(message)
        except Exception as error:
            self._tell_undelivered(message, to, error)
            raise

    def _tell_undelivered(self, message: Message, participant: Participant, error: Exception) -> None:
        self.acknowledgements.give_up(message.id, participant.id)
        about = {"channel_id": self.id, "participant_id": participant.id, "message_id": message.id}
        self._count(happened.MessageUndelivered(_text(error), **about))

    async def wait_for_ack(
        self, message_id: MessageId, timeout_s: float, *, by: ParticipantId | None = None
    ) -> Ack | None:
        """The acknowledgement of a message that was sent here, by one participant or by the first of any.

        None after a time limit, when the acknowledgement can no longer come, and for a message that needs none.
        """
        return await self.acknowledgements.wait_for_one(message_id, timeout_s, by=by)

    async def wait_for_acks(self, message_id: MessageId, timeout_s: float) -> dict[ParticipantId, Ack]:
        """The acknowledgements of a message with several recipients: when all have it, or after a time limit."""
        return await self.acknowledgements.wait_for_all(message_id, timeout_s)

    async def start_stream(self, start: StreamStart, *, seen: bool = False) -> bool:
        """Begin a stream for those who will watch it; False, and no stream, when there is nobody, unless it is `seen`
        by people in another way.

        Raises RoutingError when a stream of that id is in progress.
        """
        if start.stream_id in self._streams:
            raise RoutingError(f"stream {start.stream_id} is already in progress in {self.id}; each needs its own id")
        observers = self._watchers(start)
        if not (observers or seen):
            return False
        stream = self._streams[start.stream_id] = _Stream(start, observers)
        for observer in observers.copy():
            try:
                await observer.on_stream_start(start)
            except Exception as error:  # noqa: BLE001 - an observer must not harm who speaks
                self._set_aside(stream, observer, error)
        self._bus.publish(happened.StreamStarted(start.stream_id, self.id, start.sender_id))
        return True

    async def stream_chunk(self, stream_id: StreamId, text: str) -> None:
        """Show the next piece. Raises UnknownStream."""
        stream = self._streams.get(stream_id)
        if stream is None:
            raise self._unknown(stream_id)
        await self._show(stream, text)

    async def complete_stream(self, stream_id: StreamId, message: Message | None, *, error: str | None = None) -> None:
        """End a stream, once; with a message, show what is still missing of its text and then `send` it.

        Observers hear of the end even when the caller is cancelled. Raises UnknownStream, and what `send` raises.
        """
        stream = self._streams.pop(stream_id, None)
        if stream is None:
            raise self._unknown(stream_id)
        corrected = message is not None and not message.content.startswith(stream.shown)
        with anyio.CancelScope(shield=True):
            if message is not None and not corrected and len(message.content) > len(stream.shown):
                await self._show(stream, message.content[len(stream.shown) :])
            await self._end(stream, StreamComplete(stream_id, message, stream.start.recipient_id, error, corrected))
        failed = message is None
        self._bus.publish(happened.StreamCompleted(stream_id, self.id, stream.start.sender_id, failed, corrected))
        if message is not None:
            await self.send(message)

    def _watchers(self, start: StreamStart) -> list[StreamObserver]:
        watchers: list[StreamObserver] = []
        for participant in self._participants.values():
            if participant.id != start.sender_id and start.recipient_id in (None, participant.id):
                watcher = self._watcher(participant, start)
                if watcher is not None:
                    watchers.append(watcher)
        for observer, recipient_id in self._observers:
            if recipient_id is None or start.recipient_id in (None, recipient_id):
                watchers.append(observer)
        return watchers

    def _watcher(self, participant: Participant, start: StreamStart) -> StreamObserver | None:
        """The observer that shows a stream to a participant; None for one that reads finished messages."""
        observe = getattr(participant, "observe", None)  # a class of an extension may lack it
        if observe is None:
            return None
        try:
            watcher: StreamObserver | None = observe(start)
            return watcher
        except Exception as error:  # noqa: BLE001 - a participant must not harm who speaks
            self._count(happened.ObserverFailed(_text(error), self.id, start.stream_id))
            return None

    async def _show(self, stream: _Stream, text: str) -> None:
        if not text:
            return
        shown, stream.shown = stream.shown, ""  # nothing else holds the text: Python lets it grow without a copy
        shown += text
        stream.shown = shown
        chunk = StreamChunk(stream.start.stream_id, text, stream.start.recipient_id, stream.shown)
        for observer in tuple(stream.observers):
            try:
                await observer.on_stream_chunk(chunk)
            except Exception as error:  # noqa: BLE001 - an observer must not harm who speaks
                self._set_aside(stream, observer, error)

    async def _end(self, stream: _Stream, complete: StreamComplete) -> None:
        for observer in (*stream.observers, *stream.failed):
            try:
                await observer.on_stream_complete(complete)
            except Exception as error:  # noqa: BLE001 - an observer must not harm who speaks
                self._count(happened.ObserverFailed(_text(error), self.id, complete.stream_id))

    def _set_aside(self, stream: _Stream, observer: StreamObserver, error: Exception) -> None:
        stream.observers.remove(observer)
        stream.failed.append(observer)
        self._count(happened.ObserverFailed(_text(error), self.id, stream.start.stream_id))

    def _count(self, failure: Happening) -> None:
        self.failures += 1
        self._bus.publish(failure)

    def _unknown(self, stream_id: StreamId) -> UnknownStream:
        return UnknownStream(f"stream {stream_id} is not in progress in {self.id}; it has ended or was never started")


class ChannelRegistry:
    """One channel for any two, whoever speaks first, and one for each meeting.

    The callbacks of `on_created` get each channel once, before anything is said in it; what they raise is counted in
    `failures` and stops nobody. What an async one returns is awaited in `tasks`, and who speaks waits for it
    in `Channel.opened`.
    """

    def __init__(
        self, bus: Bus, acknowledgements: MessageAcknowledgements | None = None, tasks: TaskGroup | None = None
    ) -> None:
        self._bus = bus
        self._tasks = tasks
        self.acknowledgements = acknowledgements or MessageAcknowledgements(SystemClock())
        self._channels: dict[ChannelId, Channel] = {}
        self._on_created: list[OnCreated] = []
        self.failures = 0

    def on_created(self, callback: OnCreated) -> None:
        """Call `callback` with each channel that is created from now on. Adding it twice changes nothing."""
        if callback not in self._on_created:
            self._on_created.append(callback)

    def get(self, channel_id: ChannelId) -> Channel | None:
        return self._channels.get(channel_id)

    def direct(self, one: Participant, other: Participant) -> Channel:
        """The channel between two participants, which may be the same one twice."""
        channel_id = direct_channel_id(one.id, other.id)
        return self._channels.get(channel_id) or self._create(channel_id, (one, other))

    def meeting(self, meeting_id: MeetingId, participants: Sequence[Participant]) -> Channel:
        channel_id = meeting_channel_id(meeting_id)
        channel = self._channels.get(channel_id)
        if channel is None:
            return self._create(channel_id, participants)
        for participant in participants:
            channel.add_participant(participant)
        return channel

    def _create(self, channel_id: ChannelId, participants: Sequence[Participant]) -> Channel:
        channel = self._channels[channel_id] = Channel(channel_id, participants, self._bus, self.acknowledgements)
        for callback in tuple(self._on_created):
            try:
                self._prepare(channel, callback(channel))
            except Exception as error:  # noqa: BLE001 - who watches must not harm who speaks
                self.failures += 1
                self._bus.publish(happened.WatcherFailed(f"{type(error).__name__}: {error}", channel_id))
        self._bus.publish(happened.ChannelCreated(channel_id, len(channel.participants)))
        return channel

    def _prepare(self, channel: Channel, preparation: Awaitable[None] | None) -> None:
        if not inspect.isawaitable(preparation):
            return
        if self._tasks is None:
            raise RuntimeError("an async callback needs the task group of its session")
        self._tasks.start_soon(channel.prepare, preparation, channel.hold(), OPENING_LIMIT_S)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
