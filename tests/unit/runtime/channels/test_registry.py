"""The channels of a session."""

import pytest

from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.core.message import Message
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import MEETING, A, B, C, agent, direct


@pytest.fixture
def events() -> list[BusEvent]:
    return []


@pytest.fixture
def channels(events: list[BusEvent]) -> ChannelRegistry:
    bus = Bus(FakeClock())
    bus.subscribe("channel.*", events.append)
    return ChannelRegistry(bus)


async def test_two_have_one_channel_whoever_speaks_first(channels: ChannelRegistry) -> None:
    first = channels.direct(agent(B), agent(A))
    assert first.id == "channel_1000_1001"
    assert channels.direct(agent(A), agent(B)) is first
    assert channels.get(first.id) is first
    assert channels.direct(agent(A), agent(C)) is not first


async def test_a_meeting_has_one_channel_and_lets_in_who_comes_later(channels: ChannelRegistry) -> None:
    meeting = channels.meeting(MEETING, [agent(A)])
    assert channels.meeting(MEETING, [agent(A), agent(B)]) is meeting
    assert [participant.id for participant in meeting.participants] == [A, B]
    assert (meeting.id, meeting.is_meeting) == ("meeting_100", True)


async def test_creation_is_told_once_and_before_the_first_message(
    channels: ChannelRegistry, events: list[BusEvent]
) -> None:
    got: list[Message] = []
    told: list[tuple[str, int]] = []

    def note(channel: Channel) -> None:
        told.append((channel.id, len(got)))

    channels.on_created(note)
    channels.on_created(note)
    for text in ("a", "b"):
        await channels.direct(agent(A), agent(B, got)).send(direct(text))
    assert told == [("channel_1000_1001", 0)]
    assert [event.name for event in events] == ["channel.created"]


async def test_a_watcher_that_raises_is_counted_and_the_channel_is_made(
    channels: ChannelRegistry, events: list[BusEvent]
) -> None:
    def fail(channel: Channel) -> None:
        raise RuntimeError(channel.id)

    told: list[Channel] = []
    channels.on_created(fail)
    channels.on_created(told.append)
    channel = channels.direct(agent(A), agent(B))
    assert told == [channel]
    assert (channels.failures, [event.name for event in events]) == (1, ["channel.watcher_failed", "channel.created"])
