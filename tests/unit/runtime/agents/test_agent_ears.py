"""When what is said to an agent reaches its queue."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from msgspec.structs import replace

from runtime.agents.agent import Agent
from runtime.bus import Bus
from runtime.core.ids import AgentId, SessionId
from runtime.core.message import Message, MessageType
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct


async def _kept(_: CommitBatch, /) -> None:
    """Nothing is written down here."""


@asynccontextmanager
async def ears() -> AsyncIterator[tuple[Agent, FakeClock, Callable[[], list[str]], Callable[[TaskGroup], Agent]]]:
    """An agent of class Poet with id 1001, the clock, what is in its queue, and a way to make it again."""
    clock = FakeClock()
    journal = Journal(SessionId("s"), clock, _kept)
    journal.note(content_of("agent", {"id": "1001", "class": "Poet", "vars": {}}))

    def make(tasks: TaskGroup) -> Agent:
        context: Any = SimpleNamespace(journal=journal, clock=clock, tasks=tasks, bus=Bus(clock), pages=None)
        nothing: Any = None
        return Agent(AgentId("1001"), context, nothing, nothing, nothing)

    async with anyio.create_task_group() as tasks:
        agent = make(tasks)
        yield agent, clock, lambda: texts(agent), make
        tasks.cancel_scope.cancel()


def texts(agent: Agent) -> list[str]:
    return [message.content for message in agent.queue._messages.values()]


async def test_talk_in_a_meeting_is_heard_together_five_seconds_after_the_first() -> None:
    async with ears() as (agent, clock, heard, _):
        agent.accept(broadcast("one"))
        await clock.advance(3)
        agent.accept(broadcast("two", C))
        await clock.advance(1.9)
        assert heard() == []
        await clock.advance(0.1)
        assert heard() == ["one", "two"]


@pytest.mark.parametrize("text", ["Poet, what do you say?", "I ask the POET.", "poet: go"])
async def test_an_agent_that_is_named_hears_within_half_a_second(text: str) -> None:
    async with ears() as (agent, clock, heard, _):
        agent.accept(broadcast("before"))
        agent.accept(broadcast(text))
        await clock.advance(0.4)
        assert heard() == []
        await clock.advance(0.1)
        assert heard() == ["before", text]


async def test_a_word_that_only_contains_the_name_is_no_address() -> None:
    async with ears() as (agent, clock, heard, _):
        agent.accept(broadcast("poetry is fine"))
        await clock.advance(0.5)
        assert heard() == []


async def test_a_target_of_a_message_hears_within_half_a_second() -> None:
    async with ears() as (agent, clock, heard, _):
        agent.accept(broadcast("you", A, B))
        await clock.advance(0.5)
        assert heard() == ["you"]


def _notice(text: str) -> Message:
    return replace(broadcast(text), type=MessageType.MEETING_NOTICE)


@pytest.mark.parametrize("urgent", [broadcast("now", human=True), direct("now"), _notice("now")])
async def test_people_private_words_and_notices_come_at_once_and_bring_what_waits_in_order(urgent: Message) -> None:
    async with ears() as (agent, _, heard, __):
        agent.accept(broadcast("one"))
        agent.accept(broadcast("two"))
        agent.accept(urgent)
        assert heard() == ["one", "two", "now"]


async def test_what_waits_is_on_the_tape_when_it_is_accepted_and_in_the_queue_after_a_restart() -> None:
    async with ears() as (agent, _, heard, make):
        agent.accept(broadcast("one"))
        assert heard() == []
        assert [message.content for message in agent.state.queue] == ["one"]
        async with anyio.create_task_group() as tasks:
            assert texts(make(tasks)) == ["one"]
