"""Frames of remote tools go on under a program that changed, as long as it has their agent."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.agents.library import PlaybookLibrary
from runtime.agents.loops import VersionContinuity
from runtime.core.errors import ProgramChanged
from runtime.core.ids import AgentId, SessionId
from runtime.execution.calls.remote import RemoteServers
from runtime.language.pbasm.versions import version_of
from runtime.language.program import AgentKind, Program
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from tests.fakes.clock import FakeClock
from tests.unit.runtime.sessions.programs import agent, program, python

MAIN = agent("Main", python("Main", trigger="BGN When"), code="async def Main():\n    await Far.tool()\n")
FAR = replace(agent("Far"), kind=AgentKind.MCP)


class Nobody:
    """Adds no agents."""

    def grow(self) -> list[AgentId]:
        return []


async def _unwritten(_: CommitBatch, /) -> None:
    raise AssertionError("nothing is written here")


def begun() -> Journal:
    """A session whose Main waits for a tool."""
    journal = Journal(SessionId("s"), FakeClock(), _unwritten)
    journal.note(content_of("begin", {"program": "old", "playbooks": {"Main.Main": "other"}}))
    journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
    frame: dict[str, Any] = {"agent": "1000", "args": [], "kwargs": {}}
    journal.note(
        content_of("start", {"f": "1000.0", "pb": "Main", "version": version_of(MAIN, MAIN.playbooks[0]), **frame})
    )
    up = {"frame": "1000.0", "pos": "0", "name": "Far.tool", "digest": "d", "hidden": False}
    journal.note(content_of("start", {"f": "1000.0:0", "pb": "Far.tool", "version": "remote - -", "up": up, **frame}))
    return journal


def continuity(journal: Journal, now: Program) -> VersionContinuity:
    context: Any = SimpleNamespace(program=now, servers=RemoteServers(), journal=journal, contents=None)
    nothing: Any = None
    loops: Any = Nobody()
    return VersionContinuity(context, PlaybookLibrary(context, nothing, nothing), nothing, loops, nothing)


async def test_a_tool_that_is_being_called_goes_on() -> None:
    journal = begun()
    await continuity(journal, program(MAIN, FAR)).go_on()
    assert journal.state.news == {"changed": ["Main"]}
    assert journal.state.frames["1000.0:0"].version == "remote - -"


async def test_a_tool_whose_agent_is_gone_is_refused() -> None:
    with pytest.raises(ProgramChanged, match=r"Far\.tool is being executed here, and is no longer in the program"):
        await continuity(begun(), program(MAIN)).go_on()
