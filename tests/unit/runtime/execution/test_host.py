"""Whoever runs a frame to its end finds it as the tape has it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from runtime.bus import Bus
from runtime.core.ids import AgentId, SessionId
from runtime.core.texts import english
from runtime.events.happening import BusEvent
from runtime.execution.frames.frame import ExecutablePlaybook, Frame
from runtime.execution.frames.outcomes import FrameEvents
from runtime.execution.host import SessionHost
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.execution.triggers.triggers import CallTriggers, TriggerHandlers, VariableRules
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from tests.fakes.crashes.world import ADDRESS, World
from tests.unit.runtime.sessions.programs import program

FRAME = "1000.0"


@dataclass
class Playbook:
    """Says which frames it was run for."""

    name: str = "Main"
    version: str = "1"
    kind: str = "python"
    ran: list[str] = field(default_factory=list)

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        return list(args), dict(kwargs), {}

    async def adopt(self, frame: Frame, /) -> None:
        raise AssertionError(f"{frame.id} has this version")

    async def run(self, frame: Frame, /) -> Any:
        self.ran.append(frame.id)
        return 17


def _alone(agent: AgentId, name: str) -> tuple[AgentId, ExecutablePlaybook] | None:
    raise AssertionError(f"{agent} calls {name}")


@dataclass
class Stand:
    """A host, and what is written and told."""

    host: SessionHost
    journal: Journal
    events: list[BusEvent] = field(default_factory=list)


@asynccontextmanager
async def standing() -> AsyncIterator[Stand]:
    """A frame of an agent has begun, and nobody runs it yet."""
    world = World(())
    bus = Bus(world.clock)

    async def kept(_: CommitBatch, /) -> None:
        """Nothing is to be lost."""

    journal = Journal(SessionId("s"), world.clock, kept)
    journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
    journal.note(FrameStarted(FRAME, AgentId("1000"), "Main", [], {}, "1"))
    async with anyio.create_task_group() as tasks:
        session = SessionContext(program(), journal, tasks, world.clock, bus, None)
        pages = SessionPages(session, world, ADDRESS, english())
        frame_events = FrameEvents(journal, bus, conversation="test:1", program="test")
        handlers = TriggerHandlers(journal, bus)
        rules = VariableRules({}, journal, handlers)
        host = SessionHost(session, pages, _alone, {}, CallTriggers({}, handlers), rules, frame_events)
        stand = Stand(host, journal)
        bus.subscribe("*", stand.events.append)
        yield stand
        tasks.cancel_scope.cancel()


async def test_a_frame_is_run_to_its_end() -> None:
    playbook = Playbook()
    async with standing() as stand:
        assert await stand.host.run_frame(FRAME, playbook) is None
        assert FRAME not in stand.journal.state.frames
    assert playbook.ran == [FRAME]
    assert [event.name for event in stand.events] == ["frame.restored", "frame.returned"]


async def test_a_frame_that_was_stopped_before_it_could_run_is_not_run() -> None:
    playbook, returned = Playbook(), list[object]()
    async with standing() as stand:
        stand.host.returned.subscribe(returned.append)
        stand.journal.note(content_of("stop", {"agent": "1000", "drop": [], "past": [], "idle": False}))
        before = stand.journal.state.seq
        assert await stand.host.run_frame(FRAME, playbook) is None
        assert stand.journal.state.seq == before
    assert (playbook.ran, stand.events, returned) == ([], [], [])
