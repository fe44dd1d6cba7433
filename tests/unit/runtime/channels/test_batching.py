"""When messages are given to an agent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from msgspec.structs import replace

from runtime.channels.message_queue import MessageBatcher, MessageQueue
from runtime.core.errors import QueueFull
from runtime.core.ids import PersonId
from runtime.core.message import Message, MessageType
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct, texts

ADA = PersonId("telegram:1")


class Agent:
    """Agent B's batcher and the batches that it was given."""

    def __init__(self, batcher: MessageBatcher, clock: FakeClock, batches: list[list[str]]) -> None:
        self.batcher = batcher
        self.clock = clock
        self.batches = batches


@asynccontextmanager
async def running(capacity: int = 100) -> AsyncIterator[Agent]:
    clock = FakeClock()
    batches: list[list[str]] = []

    def deliver(messages: Sequence[Message]) -> None:
        batches.append(texts(list(messages)))

    async with anyio.create_task_group() as tasks:
        batcher = MessageBatcher(deliver, clock, tasks, lambda message: message.addresses(B), capacity=capacity)
        yield Agent(batcher, clock, batches)
        tasks.cancel_scope.cancel()


async def test_talk_in_a_meeting_is_given_together_five_seconds_after_the_first() -> None:
    async with running() as agent:
        for text, pause_s in (("a", 2.0), ("b", 2.5), ("c", 0.4)):
            agent.batcher.add(broadcast(text))
            await agent.clock.advance(pause_s)
        assert agent.batches == []
        await agent.clock.advance(0.1)
        assert agent.batches == [["a", "b", "c"]]


async def test_the_next_batch_has_its_own_five_seconds() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("a"))
        await agent.clock.advance(6)
        agent.batcher.add(broadcast("b"))
        await agent.clock.advance(4.9)
        assert agent.batches == [["a"]]
        await agent.clock.advance(0.1)
        assert agent.batches == [["a"], ["b"]]


async def test_an_agent_that_is_addressed_has_it_within_half_a_second() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("a"))
        await agent.clock.advance(1)
        agent.batcher.add(broadcast("B, what do you think?", A, B))
        agent.batcher.add(broadcast("c"))
        await agent.clock.advance(0.4)
        assert agent.batches == []
        await agent.clock.advance(0.1)
        assert agent.batches == [["a", "B, what do you think?", "c"]]


async def test_being_addressed_late_does_not_put_off_what_is_due() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("a"))
        await agent.clock.advance(4.8)
        agent.batcher.add(broadcast("b", A, B))
        await agent.clock.advance(0.2)
        assert agent.batches == [["a", "b"]]


async def test_another_agent_being_addressed_changes_nothing() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("C?", A, C))
        await agent.clock.advance(4.9)
        assert agent.batches == []


async def test_a_person_is_heard_at_once_after_what_waits() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("a"))
        agent.batcher.add(broadcast("b"))
        agent.batcher.add(broadcast("stop", ADA, human=True))
        assert agent.batches == [["a", "b", "stop"]]
        await agent.clock.advance(10)
        assert agent.batches == [["a", "b", "stop"]]


async def test_a_message_for_this_agent_alone_does_not_wait() -> None:
    async with running() as agent:
        agent.batcher.add(direct("a"))
        agent.batcher.add(replace(broadcast("join us"), type=MessageType.MEETING_INVITATION, recipient_id=B))
        assert agent.batches == [["a"], ["join us"]]


async def test_a_batch_that_is_given_early_leaves_no_timer() -> None:
    async with running() as agent:
        agent.batcher.add(broadcast("a"))
        await agent.clock.settle()
        assert agent.clock.sleeping == 1
        agent.batcher.flush()
        await agent.clock.settle()
        assert (agent.clock.sleeping, agent.batches, len(agent.batcher)) == (0, [["a"]], 0)


async def test_a_large_batch_is_given_before_its_time() -> None:
    async with running(capacity=3) as agent:
        for text in "abcd":
            agent.batcher.add(broadcast(text))
        assert agent.batches == [["a", "b", "c"]]


async def test_a_full_queue_refuses_the_sender_and_what_waits_is_given_later() -> None:
    clock = FakeClock()
    queue = MessageQueue(2, clock)
    queue.put(direct("unread"))
    async with anyio.create_task_group() as tasks:
        batcher = MessageBatcher(queue.put_all, clock, tasks, lambda message: message.addresses(B))
        batcher.add(broadcast("a"))
        with pytest.raises(QueueFull):
            batcher.add(direct("refused"))
        batcher.add(broadcast("b"))
        await clock.advance(5)
        assert (len(queue), len(batcher)) == (1, 2)
        await queue.get()
        await clock.advance(5)
        assert texts(await queue.get_batch()) == ["a", "b"]
        tasks.cancel_scope.cancel()


async def test_what_waits_for_an_agent_that_has_ended_goes() -> None:
    clock = FakeClock()
    queue = MessageQueue(2, clock)
    async with anyio.create_task_group() as tasks:
        batcher = MessageBatcher(queue.put_all, clock, tasks, lambda message: message.addresses(B))
        batcher.add(broadcast("a"))
        queue.close()
        await clock.advance(5)
    assert len(batcher) == 0
