"""The tools of servers in isolated tasks: called by the node, as settings and people allow, whatever a process says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.execution.calls.remote import ToolRules
from runtime.language.program import AgentSpec, Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.remote_stand import Stand, in_memory, standing
from tests.fakes.people.talk import Model, Talk, talking
from tests.fakes.protocols.mcp_server import Ledger
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

ASKED = 'Task 1 (Buyer.Weather.buy) asks: 🔧 I want to call Weather.buy(what="bread"). Is that allowed?'
REFUSED = "Weather.buy may not be called here: nobody has allowed it"
DEFAULT = ToolRules()
ALL = ToolRules(allow=("*",))


@pytest.fixture
def weather(tmp_path: Path) -> AgentSpec:
    return in_memory(tmp_path)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing() as made:
        yield made


def buying(weather: AgentSpec, call: str = 'Weather.buy(what="bread")') -> Program:
    code = f"""
async def Buy():
    try:
        return await {call}
    except Exception as error:
        return str(error)
"""
    buyer = agent("Buyer", python("Buy", public=True), code=code)
    ordering = 'async def Main():\n    await Say("user", await Result(await Spawn("Buyer", "Buy")))\n'
    main = agent("Main", python("Main", trigger="BGN When program starts"), code=ordering)
    return program(main, buyer, weather)


@asynccontextmanager
async def isolated(
    made: Program, stand: Stand, sandbox: MontySandbox, rules: ToolRules = DEFAULT, told: ToolRules | None = None
) -> AsyncIterator[tuple[Talk, NearAgents]]:
    """`rules` are the node's, `told` what a process goes by that has been told others."""
    world, model = World(()), Model()
    near = NearAgents(made, lambda: world.tasks, model, sandbox, world.clock, rules=told or rules)
    more: dict[str, Any] = {"servers": stand.pool, "tool_rules": rules, "task_conversation": near.conversations}
    async with talking(made, model, sandbox, world=world, **more) as talk:
        yield talk, near


async def said(talk: Talk, text: str) -> None:
    await talk.until(lambda: talk.chat[-1:] == [text])


async def test_a_tool_that_only_reads_is_called(
    weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    ledger.add("look first 1")  # the first call of it never ends
    async with isolated(buying(weather, "Weather.look()"), stand, sandbox) as (talk, near):
        talk.post("hi")
        await said(talk, "look done")
        assert len(near.started) == 1


@pytest.mark.parametrize(
    ("index", "done", "lines"),
    [(0, "bought bread", 1), (1, "Weather.buy was not allowed: the answer was Do not allow", 0)],
)
async def test_people_are_asked_as_they_are_inline(
    index: int, done: str, lines: int, weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    async with isolated(buying(weather), stand, sandbox) as (talk, _):
        talk.post("hi")
        await said(talk, ASKED)
        choice = talk.world.offered[-1].choices[index]
        talk.post(choice.label, kind="choice", choice=choice.id)
        await said(talk, done)
    assert len(ledger.lines) == lines


async def test_what_people_have_allowed_is_known_after_the_process_was_killed(
    weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    async with isolated(buying(weather), stand, sandbox) as (talk, near):
        talk.post("hi")
        await said(talk, ASKED)
        near.started[0].scope.cancel()
        await talk.until(lambda: len(near.started) == 2)
        choice = talk.world.offered[-1].choices[0]
        talk.post(choice.label, kind="choice", choice=choice.id)
        await said(talk, "bought bread")
        assert talk.chat == [ASKED, "bought bread"]
    assert len(ledger.lines) == 1


@pytest.mark.parametrize("rules", [ToolRules(deny=("Weather.*",)), ToolRules(ask=("Weather.*",))])
async def test_a_process_that_asks_nobody_is_refused(
    rules: ToolRules, weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    async with isolated(buying(weather), stand, sandbox, rules, told=ALL) as (talk, _):
        talk.post("hi")
        await said(talk, REFUSED)
    assert ledger.lines == []


async def test_arguments_are_checked_by_the_node(
    weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    async with isolated(buying(weather, "Weather.buy(what=[1])"), stand, sandbox, ALL) as (talk, _):
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat[-1].startswith("Weather.buy does not take these arguments: what:")
    assert ledger.lines == []
