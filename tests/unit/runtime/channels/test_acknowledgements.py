"""Acknowledgement: who has got a message, waited for by its sender."""

import anyio
import pytest
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.participant import Ack, MessageAcknowledgements, Participant
from runtime.core.errors import QueueFull
from runtime.core.ids import AgentId, ChannelId, MessageId
from runtime.core.message import ACK_WITHIN_S, Message, message_from_data, message_to_data
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct


@pytest.fixture
def acknowledgements(clock: FakeClock) -> MessageAcknowledgements:
    return MessageAcknowledgements(clock)


def _nothing(_: Message) -> None: ...


def _full(_: Message) -> None:
    raise QueueFull("no room")


def _channel(acknowledgements: MessageAcknowledgements, *others: Participant) -> Channel:
    return Channel(
        ChannelId("meeting_100"),
        [Participant(A, "Agent", _nothing), *others],
        Bus(FakeClock()),
        acknowledgements,
    )


def _wanted(message: Message) -> Message:
    return replace(message, ack_required=True)


def _agent(id_: AgentId) -> Participant:
    return Participant(id_, "Agent", _nothing)


async def test_a_message_asks_for_no_acknowledgement_and_for_one_within_thirty_seconds() -> None:
    assert direct("hi").ack_required is False
    assert direct("hi").ack_within_s == ACK_WITHIN_S == 30.0
    assert message_from_data(message_to_data(_wanted(direct("hi")))).ack_required is True
    soon = replace(_wanted(direct("hi")), ack_within_s=5)
    assert message_from_data(message_to_data(soon)).ack_within_s == 5


async def test_the_sender_hears_of_an_acknowledgement(
    acknowledgements: MessageAcknowledgements, clock: FakeClock
) -> None:
    channel, message = _channel(acknowledgements, _agent(B)), _wanted(direct("hi"))
    await channel.send(message)
    found: list[Ack | None] = []

    async def wait() -> None:
        found.append(await channel.wait_for_ack(message.id, message.ack_within_s))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.advance(3)
        assert found == []
        acknowledgements.acknowledge(message.id, B)
    assert found == [Ack(message.id, B, clock.now())]


async def test_one_that_came_before_somebody_waited_is_known(acknowledgements: MessageAcknowledgements) -> None:
    channel, message = _channel(acknowledgements, _agent(B)), _wanted(direct("hi"))
    await channel.send(message)
    acknowledgements.acknowledge(message.id, B)
    ack = await channel.wait_for_ack(message.id, 1)
    assert ack is not None
    assert ack.participant_id == B


async def test_a_time_out_is_none_and_no_error(acknowledgements: MessageAcknowledgements, clock: FakeClock) -> None:
    channel, message = _channel(acknowledgements, _agent(B)), _wanted(direct("hi"))
    await channel.send(message)
    found: list[Ack | None] = []

    async def wait() -> None:
        found.append(await channel.wait_for_ack(message.id, 30))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.advance(29.9)
        assert found == []
        await clock.advance(0.2)
    assert found == [None]


async def test_a_broadcast_is_acknowledged_by_each_participant(
    acknowledgements: MessageAcknowledgements, clock: FakeClock
) -> None:
    channel, message = _channel(acknowledgements, _agent(B), _agent(C)), _wanted(broadcast("all"))
    await channel.send(message)
    found: list[set[str]] = []

    async def wait() -> None:
        found.append({str(who) for who in await channel.wait_for_acks(message.id, 10)})

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        acknowledgements.acknowledge(message.id, C)
        await clock.advance(1)
        assert found == []
        assert await channel.wait_for_ack(message.id, 5, by=C) is not None
        await clock.advance(10)
    assert found == [{C}]


async def test_who_could_not_take_it_is_not_waited_for(acknowledgements: MessageAcknowledgements) -> None:
    channel, message = (
        _channel(acknowledgements, Participant(B, "Agent", _full), _agent(C)),
        _wanted(broadcast("all")),
    )
    await channel.send(message)
    assert await channel.wait_for_ack(message.id, 30, by=B) is None
    acknowledgements.acknowledge(message.id, C)
    assert set(await channel.wait_for_acks(message.id, 30)) == {C}


async def test_a_message_that_asks_for_none_is_not_remembered(acknowledgements: MessageAcknowledgements) -> None:
    channel, message = _channel(acknowledgements, _agent(B)), direct("hi")
    await channel.send(message)
    assert acknowledgements.remembered == 0
    assert await channel.wait_for_ack(message.id, 30) is None


async def test_nothing_grows_where_nobody_waits(clock: FakeClock) -> None:
    acknowledgements = MessageAcknowledgements(clock, capacity=3)
    channel = _channel(acknowledgements, _agent(B))
    for _ in range(100):
        await channel.send(_wanted(direct("hi")))
    assert acknowledgements.remembered == 3
    assert clock.sleeping == 0


async def test_who_waits_for_one_that_is_forgotten_is_told(clock: FakeClock) -> None:
    acknowledgements, found = MessageAcknowledgements(clock, capacity=1), list[Ack | None]()
    acknowledgements.expect(MessageId("old"), [B])

    async def wait() -> None:
        found.append(await acknowledgements.wait_for_one(MessageId("old"), 30, by=None))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.settle()
        acknowledgements.expect(MessageId("new"), [B])
    assert found == [None]
