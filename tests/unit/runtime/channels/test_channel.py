"""Channels: whole messages and streams."""

import asyncio

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Participant
from runtime.core.errors import QueueFull, RoutingError, UnknownStream
from runtime.core.ids import AgentId, ChannelId, ParticipantId, PersonId, StreamId
from runtime.core.message import HUMAN_CLASS, Message, StreamChunk, StreamComplete, StreamObserver, StreamStart
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct, texts

ADA, BOB = PersonId("telegram:1"), PersonId("telegram:2")
STREAM = StreamId("s1")


class Watcher:
    """An observer that notes what it sees, and raises at the events named in `fails_at`."""

    def __init__(self, *fails_at: str) -> None:
        self.seen: list[StreamStart | StreamChunk | StreamComplete] = []
        self._fails_at = fails_at

    async def on_stream_start(self, event: StreamStart, /) -> None:
        self._note("start", event)

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        self._note("chunk", event)

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        self._note("complete", event)

    def _note(self, name: str, event: StreamStart | StreamChunk | StreamComplete) -> None:
        self.seen.append(event)
        if name in self._fails_at:
            raise RuntimeError(f"no {name}")

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.seen if isinstance(event, StreamChunk))

    @property
    def endings(self) -> list[StreamComplete]:
        return [event for event in self.seen if isinstance(event, StreamComplete)]


class Screen(Watcher):
    """A display that shows streams while they grow."""

    def __init__(self, *fails_at: str) -> None:
        super().__init__(*fails_at)
        self.delivered: list[Message] = []

    def person(self, who: PersonId) -> Participant:
        return Participant(who, HUMAN_CLASS, self.deliver, self.observe)

    async def deliver(self, message: Message, /) -> None:
        self.delivered.append(message)

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        return self


class Letterbox(Screen):
    """A display that shows finished messages only."""

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        return None


class Inbox:
    """An agent and what it got."""

    def __init__(self, agent_id: AgentId) -> None:
        self.got: list[Message] = []
        self.participant = Participant(agent_id, "Agent", self.got.append)


@pytest.fixture
def events() -> list[BusEvent]:
    return []


@pytest.fixture
def bus(events: list[BusEvent]) -> Bus:
    bus = Bus(FakeClock())
    bus.subscribe("*", events.append)
    return bus


def channel(bus: Bus, *participants: Participant, name: str = "channel_1") -> Channel:
    return Channel(ChannelId(name), participants, bus)


def start(recipient: ParticipantId | None = None, sender: ParticipantId = A) -> StreamStart:
    return StreamStart(STREAM, ChannelId("channel_1"), sender, "Agent", recipient)


async def test_a_channel_needs_an_id_and_somebody(bus: Bus) -> None:
    with pytest.raises(RoutingError):
        Channel(ChannelId("channel_1"), (), bus)
    with pytest.raises(RoutingError):
        Channel(ChannelId(""), (Inbox(A).participant,), bus)


async def test_a_meeting_of_two_is_a_meeting_and_not_direct(bus: Bus) -> None:
    pair = (Inbox(A).participant, Inbox(B).participant)
    assert (channel(bus, *pair).is_direct, channel(bus, *pair).is_meeting) == (True, False)
    meeting = channel(bus, *pair, name="meeting_100")
    assert (meeting.is_direct, meeting.is_meeting) == (False, True)
    assert not channel(bus, *pair, Inbox(C).participant).is_direct


async def test_a_message_reaches_all_but_its_sender(bus: Bus) -> None:
    a, b, c = Inbox(A), Inbox(B), Inbox(C)
    screen = Screen()
    conduit = channel(bus, a.participant, b.participant, c.participant, screen.person(ADA))
    assert await conduit.send(broadcast("hello", A)) == 3
    assert [texts(inbox) for inbox in (a.got, b.got, c.got, screen.delivered)] == [[], ["hello"], ["hello"], ["hello"]]


async def test_talking_to_oneself_arrives_once(bus: Bus) -> None:
    a = Inbox(A)
    assert await channel(bus, a.participant, a.participant).send(direct("note", A, A)) == 1
    assert texts(a.got) == ["note"]


async def test_an_agent_may_take_a_message_asynchronously(bus: Bus) -> None:
    got: list[Message] = []

    async def accept(message: Message) -> None:
        await anyio.lowlevel.checkpoint()
        got.append(message)

    await channel(bus, Participant(B, "Agent", accept), Inbox(A).participant).send(direct("hello"))
    assert texts(got) == ["hello"]


async def test_participants_come_once_and_go(bus: Bus) -> None:
    a, b = Inbox(A).participant, Inbox(B).participant
    conduit = channel(bus, a)
    conduit.add_participant(b)
    conduit.add_participant(Inbox(B).participant)
    assert conduit.participants == (a, b)
    assert conduit.participant(B) is b
    assert conduit.participant(C) is None
    conduit.remove_participant(B)
    conduit.remove_participant(B)
    assert [participant.id for participant in conduit.participants] == [A]


async def test_one_who_cannot_take_a_message_does_not_keep_it_from_others(bus: Bus, events: list[BusEvent]) -> None:
    full = MessageQueue(0, FakeClock())
    c = Inbox(C)
    conduit = channel(bus, Inbox(A).participant, Participant(B, "Agent", full.put), c.participant)
    assert await conduit.send(broadcast("hello")) == 1
    assert texts(c.got) == ["hello"]
    assert [(event.name, event.data["participant_id"]) for event in events] == [("message.undelivered", B)]
    assert conduit.failures == 1


async def test_the_sender_is_told_when_nobody_could_take_it(bus: Bus) -> None:
    full = MessageQueue(0, FakeClock())
    a, b, c = Inbox(A).participant, Participant(B, "Agent", full.put), Participant(C, "Agent", full.put)
    with pytest.raises(QueueFull):
        await channel(bus, a, b).send(direct("hello"))
    with pytest.raises(RoutingError, match="reached nobody"):
        await channel(bus, a, b, c).send(broadcast("hello"))


async def test_a_stream_is_start_then_chunks_then_one_end_and_the_message_is_delivered_once(bus: Bus) -> None:
    screen, a = Screen(), Inbox(A)
    conduit = channel(bus, a.participant, screen.person(ADA))
    message = replace(direct("Hello!", A, ADA), stream_id=STREAM)
    assert await conduit.start_stream(start(ADA))
    await conduit.stream_chunk(STREAM, "Hel")
    await conduit.stream_chunk(STREAM, "lo!")
    await conduit.complete_stream(STREAM, message)
    assert screen.seen == [
        start(ADA),
        StreamChunk(STREAM, "Hel", ADA, "Hel"),
        StreamChunk(STREAM, "lo!", ADA, "Hello!"),
        StreamComplete(STREAM, message, ADA),
    ]
    assert (screen.delivered, a.got) == ([message], [])


async def test_a_stream_that_nobody_would_watch_does_not_start(bus: Bus) -> None:
    agents = channel(bus, Inbox(A).participant, Inbox(B).participant)
    assert not await agents.start_stream(start(B))
    reader = channel(bus, Inbox(A).participant, Letterbox().person(ADA))
    assert not await reader.start_stream(start(ADA))
    with pytest.raises(UnknownStream):
        await reader.stream_chunk(STREAM, "x")


async def test_an_observer_that_asked_makes_agents_stream_too(bus: Bus) -> None:
    conduit = channel(bus, Inbox(A).participant, Inbox(B).participant)
    watcher = Watcher()
    conduit.add_observer(watcher)
    conduit.add_observer(watcher)
    assert await conduit.start_stream(start(B))
    assert len(watcher.seen) == 1
    conduit.remove_observer(watcher)
    await conduit.complete_stream(STREAM, None)
    assert not await conduit.start_stream(start(B))


async def test_an_observer_of_one_recipient_sees_what_they_see(bus: Bus) -> None:
    conduit = channel(bus, Inbox(A).participant)
    everything, bobs = Watcher(), Watcher()
    conduit.add_observer(everything)
    conduit.add_observer(bobs, BOB)
    for recipient, expected in ((ADA, 0), (BOB, 1), (None, 2)):
        await conduit.start_stream(start(recipient))
        await conduit.complete_stream(STREAM, None)
        assert len(bobs.endings) == expected
    assert len(everything.endings) == 3


async def test_a_person_sees_streams_to_all_or_to_them_and_not_their_own(bus: Bus) -> None:
    ada, bob = Screen(), Screen()
    conduit = channel(bus, ada.person(ADA), bob.person(BOB), Inbox(A).participant)
    await conduit.start_stream(start(ADA))
    await conduit.complete_stream(STREAM, None)
    assert (len(ada.endings), len(bob.endings)) == (1, 0)
    await conduit.start_stream(start(None, sender=ADA))
    await conduit.complete_stream(STREAM, None)
    assert (len(ada.endings), len(bob.endings)) == (1, 1)


async def test_what_was_not_streamed_of_the_final_text_comes_as_the_last_chunk(bus: Bus) -> None:
    screen = Screen()
    conduit = channel(bus, screen.person(ADA))
    await conduit.start_stream(start())
    await conduit.stream_chunk(STREAM, "It is ")
    await conduit.complete_stream(STREAM, direct("It is 7 °C"))
    assert (screen.text, screen.endings[0].corrected) == ("It is 7 °C", False)


async def test_a_final_text_that_differs_is_told_to_observers(bus: Bus, events: list[BusEvent]) -> None:
    screen = Screen()
    conduit = channel(bus, screen.person(ADA))
    await conduit.start_stream(start())
    await conduit.stream_chunk(STREAM, "abc")
    await conduit.complete_stream(STREAM, direct("ABC"))
    assert (screen.text, screen.endings[0].corrected) == ("abc", True)
    assert events[-1].name == "stream.completed"
    assert events[-1].data["corrected"] is True


async def test_a_failed_stream_ends_once_and_delivers_nothing(bus: Bus) -> None:
    screen = Screen()
    conduit = channel(bus, screen.person(ADA))
    await conduit.start_stream(start())
    await conduit.complete_stream(STREAM, None, error="the model broke off")
    assert screen.endings == [StreamComplete(STREAM, None, None, "the model broke off")]
    assert screen.delivered == []
    with pytest.raises(UnknownStream):
        await conduit.complete_stream(STREAM, None)


async def test_unknown_streams_and_ids_in_use_are_errors(bus: Bus) -> None:
    conduit = channel(bus, Screen().person(ADA))
    with pytest.raises(UnknownStream):
        await conduit.stream_chunk(StreamId("other"), "x")
    with pytest.raises(UnknownStream):
        await conduit.complete_stream(StreamId("other"), None)
    await conduit.start_stream(start())
    with pytest.raises(RoutingError):
        await conduit.start_stream(start())


@pytest.mark.parametrize("fails_at", ["start", "chunk", "complete"])
async def test_an_observer_that_raises_harms_neither_others_nor_the_message(
    bus: Bus, events: list[BusEvent], fails_at: str
) -> None:
    bad, good, screen = Watcher(fails_at), Watcher(), Screen()
    conduit = channel(bus, screen.person(ADA))
    conduit.add_observer(bad)
    conduit.add_observer(good)
    await conduit.start_stream(start())
    for piece in ("Hel", "lo"):
        await conduit.stream_chunk(STREAM, piece)
    await conduit.complete_stream(STREAM, direct("Hello"))
    assert (good.text, len(good.endings), len(bad.endings)) == ("Hello", 1, 1)
    assert texts(screen.delivered) == ["Hello"]
    assert [event.name for event in events].count("stream.observer_failed") == conduit.failures == 1


async def test_the_end_of_a_stream_is_told_to_all_though_its_writer_is_cancelled(bus: Bus) -> None:
    told = asyncio.Event()

    class Slow(Watcher):
        async def on_stream_complete(self, event: StreamComplete, /) -> None:
            told.set()
            await anyio.lowlevel.checkpoint()
            await super().on_stream_complete(event)

    slow, other = Slow(), Watcher()
    conduit = channel(bus, Inbox(A).participant)
    conduit.add_observer(slow)
    conduit.add_observer(other)
    await conduit.start_stream(start())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(conduit.complete_stream, STREAM, None)
        await told.wait()
        tasks.cancel_scope.cancel()
    assert (len(slow.endings), len(other.endings)) == (1, 1)


@given(st.lists(st.text(max_size=5)), st.text(max_size=5))
def test_chunks_always_add_up_to_the_final_text(pieces: list[str], rest: str) -> None:
    final = "".join(pieces) + rest
    watcher = Watcher()

    async def stream() -> None:
        conduit = channel(Bus(FakeClock()), Inbox(A).participant)
        conduit.add_observer(watcher)
        await conduit.start_stream(start())
        for piece in pieces:
            await conduit.stream_chunk(STREAM, piece)
        await conduit.complete_stream(STREAM, direct(final))

    anyio.run(stream)
    assert watcher.text == final
    assert [ending.corrected for ending in watcher.endings] == [False]
