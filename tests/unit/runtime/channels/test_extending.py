"""What people who extend Parley can add to channels: observers, callbacks, participants, types of messages."""

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import MessageAcknowledgements, Participant
from runtime.core.errors import RoutingError
from runtime.core.ids import ChannelId, ParticipantId, PersonId, StreamId
from runtime.core.message import (
    Message,
    MessageType,
    StreamChunk,
    StreamComplete,
    StreamStart,
    message_from_data,
    message_to_data,
)
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import MEETING, A, B, C, agent, broadcast, direct, texts


class CustomStreamObserver:
    """Counts, as one for metrics or analytics does."""

    def __init__(self) -> None:
        self.text = ""
        self.counts: Counter[str] = Counter()

    async def on_stream_start(self, event: StreamStart, /) -> None:
        self.counts["start"] += 1

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        self.text += event.text
        self.counts["chunk"] += 1

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        self.counts["complete"] += 1


class RemoteParticipant:
    """Connected by a network: here a list."""

    def __init__(self, remote_id: str) -> None:
        self.id: ParticipantId = PersonId(remote_id)
        self.participant = Participant(self.id, "RemoteAgent", self.deliver)
        self.wire: list[str] = []
        self.connected = True

    async def deliver(self, message: Message, /) -> None:
        if not self.connected:
            raise RoutingError(f"{self.id} is not connected")
        self.wire.append(json.dumps(message_to_data(message)))


@pytest.fixture
def events() -> list[BusEvent]:
    return []


@pytest.fixture
def channels(events: list[BusEvent]) -> ChannelRegistry:
    bus = Bus(FakeClock())
    bus.subscribe("*", events.append)
    return ChannelRegistry(bus)


async def utter(channel: Channel, *pieces: str) -> Message:
    """Say something piece by piece."""
    message = replace(direct("".join(pieces)), stream_id=StreamId("s"))
    await channel.start_stream(StreamStart(StreamId("s"), channel.id, A, "Agent", B))
    for piece in pieces:
        await channel.stream_chunk(StreamId("s"), piece)
    await channel.complete_stream(StreamId("s"), message)
    return message


# -- custom stream observers


async def test_an_observer_sees_start_every_chunk_and_one_end(channels: ChannelRegistry) -> None:
    channel, observer = channels.direct(agent(A), agent(B)), CustomStreamObserver()
    channel.add_observer(observer)
    channel.add_observer(observer)
    message = await utter(channel, "one ", "two ", "three")
    assert observer.counts == {"start": 1, "chunk": 3, "complete": 1}
    assert observer.text == message.content


async def test_an_observer_of_somebody_else_sees_nothing(channels: ChannelRegistry) -> None:
    channel, observer = channels.direct(agent(A), agent(B)), CustomStreamObserver()
    channel.add_observer(CustomStreamObserver())
    channel.add_observer(observer, recipient_id=C)
    await utter(channel, "for B")
    assert observer.text == ""


async def test_an_observer_that_is_taken_away_sees_no_more(channels: ChannelRegistry) -> None:
    channel, observer = channels.direct(agent(A), agent(B)), CustomStreamObserver()
    channel.add_observer(observer)
    channel.remove_observer(observer)
    assert await channel.start_stream(StreamStart(StreamId("s"), channel.id, A, "Agent", B)) is False


# -- channel creation callbacks


async def test_a_callback_is_called_at_once_with_every_new_channel(channels: ChannelRegistry) -> None:
    told: list[str] = []

    def on_new_channel_created(channel: Channel) -> None:
        told.append(f"{'meeting' if channel.is_meeting else '1:1'} {channel.id}")

    channels.on_created(on_new_channel_created)
    channels.direct(agent(A), agent(B))
    channels.direct(agent(B), agent(A))
    channels.meeting(MEETING, [agent(A), agent(B)])
    assert told == ["1:1 channel_1000_1001", "meeting meeting_100"]


async def test_a_callback_can_watch_every_channel_from_its_first_word(channels: ChannelRegistry) -> None:
    observer = CustomStreamObserver()
    channels.on_created(lambda channel: channel.add_observer(observer))
    await utter(channels.direct(agent(A), agent(B)), "first")
    await utter(channels.direct(agent(A), agent(C)), " second")
    assert observer.text == "first second"


async def test_a_callback_that_raises_stops_nobody(channels: ChannelRegistry, events: list[BusEvent]) -> None:
    told: list[str] = []

    def fail(_: Channel) -> None:
        raise RuntimeError("no")

    channels.on_created(fail)
    channels.on_created(lambda channel: told.append(channel.id))
    got: list[Message] = []
    await channels.direct(agent(A), agent(B, got)).send(direct("hi"))
    assert (told, texts(got), channels.failures) == (["channel_1000_1001"], ["hi"], 1)
    assert [event.name for event in events][:1] == ["channel.watcher_failed"]


# -- custom participant types


async def test_a_participant_of_ones_own_is_delivered_to_as_any_other(channels: ChannelRegistry) -> None:
    remote, got = RemoteParticipant("remote:7"), list[Message]()
    channel = channels.meeting(MEETING, [agent(A), agent(B, got), remote.participant])
    message = broadcast("all of you")
    assert await channel.send(message) == 2
    assert message_from_data(json.loads(remote.wire[0])) == message
    assert texts(got) == ["all of you"]
    assert channel.participant(remote.id) is remote.participant


async def test_one_that_cannot_take_it_keeps_it_from_nobody_and_alone_is_an_error(channels: ChannelRegistry) -> None:
    remote, got = RemoteParticipant("remote:7"), list[Message]()
    remote.connected = False
    assert await channels.meeting(MEETING, [agent(A), remote.participant, agent(B, got)]).send(broadcast("hi")) == 1
    alone = channels.direct(agent(A), remote.participant)
    with pytest.raises(RoutingError, match="remote:7 is not connected"):
        await alone.send(direct("hi", recipient=B))


async def test_one_of_ones_own_can_acknowledge() -> None:
    acknowledgements, remote = MessageAcknowledgements(FakeClock()), RemoteParticipant("remote:7")
    channel = Channel(ChannelId("c"), [agent(A), remote.participant], Bus(FakeClock()), acknowledgements)
    message = replace(direct("hi"), ack_required=True)
    await channel.send(message)
    acknowledgements.acknowledge(message.id, remote.id)
    ack = await channel.wait_for_ack(message.id, timeout_s=30)
    assert ack is not None
    assert ack.participant_id == "remote:7"


# -- message type extensions


@pytest.mark.parametrize("kind", ["system_notification", "agent_status_update", "debug_trace"])
async def test_a_type_of_ones_own_is_delivered_kept_and_selected(kind: str, channels: ChannelRegistry) -> None:
    queue = MessageQueue(10, FakeClock())
    channel = channels.direct(agent(A), Participant(B, "Agent", queue.put))
    await channel.send(direct("plain"))
    await channel.send(replace(direct("special"), type=kind))
    found = await queue.get(lambda message: message.type == kind)
    assert message_from_data(json.loads(json.dumps(message_to_data(found)))) == found
    assert (found.content, len(queue)) == ("special", 1)


def test_messages_in_private_and_in_meetings_have_types_of_their_own() -> None:
    assert {"direct", "meeting_broadcast", "meeting_invitation", "meeting_response"} <= set(MessageType)
