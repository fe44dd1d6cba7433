"""Isolated tasks in their nodes' memory: done once whoever dies, and ended when their process cannot end them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from gateway.isolation.node.conversation import DEATHS
from gateway.settings.programs.isolation import IsolationSettings
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World, live
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.programs.tasks import TASKS
from tests.unit.runtime.sessions.crashes.test_crashed_tasks import check_tasks
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

RESEARCHER = """
async def Study(topic):
    return "all about " + topic

async def Ask_first():
    return await Ask("Which way?", ["left", "right"])

async def Wait():
    await Sleep(300)
    return "rested"

async def Further():
    return "further " + await Result(await Spawn("Researcher", "Study", ["tides"]))
"""


def ordering(playbook: str, *arguments: str) -> Program:
    public = [python(name, public=True) for name in ("Ask_first", "Wait", "Further")]
    researcher = agent("Researcher", python("Study", "topic", public=True), *public, code=RESEARCHER)
    code = f"""
async def Main():
    task = await Spawn("Researcher", "{playbook}", {list(arguments)})
    try:
        await Say("user", await Result(task))
    except Exception as error:
        await Say("user", str(error))
    for message in await WaitForMessage("user"):
        await Cancel(task)
"""
    return program(agent("Main", python("Main", trigger="BGN When program starts"), code=code), researcher)


@asynccontextmanager
async def isolated(
    made: Program, sandbox: MontySandbox, world: World | None = None
) -> AsyncIterator[tuple[Talk, NearAgents]]:
    world, model = world or World(()), Model()
    near = NearAgents(made, lambda: world.tasks, model, sandbox, world.clock)
    async with talking(made, model, sandbox, world=world, task_conversation=near.conversations) as talk:
        yield talk, near


async def test_an_isolated_task_is_executed_by_its_process_and_answered(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Study", "tides"), sandbox) as (talk, near):
        assert await talk.say("hi") == ["all about tides"]
        assert len(near.started) == 1


async def test_what_an_isolated_task_orders_is_isolated_too(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Further"), sandbox) as (talk, near):
        assert await talk.say("hi") == ["further all about tides"]
        assert len(near.started) == 2


async def test_a_process_that_dies_is_started_again_and_goes_on(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Study", "tides"), sandbox) as (talk, near):
        near.dies_at_once = DEATHS - 1
        assert await talk.say("hi") == ["all about tides"]
        assert len(near.started) == DEATHS
        assert [event.data["times"] for event in talk.named("task.process_died")] == list(range(1, DEATHS))


async def test_a_task_whose_process_dies_again_and_again_has_failed(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Study", "tides"), sandbox) as (talk, near):
        near.dies_at_once = DEATHS
        (said,) = await talk.say("hi")
        assert "the process that ran it has died 5 times in a row, the last time with exit code -9" in said
        assert len(near.started) == DEATHS


async def test_a_process_that_hangs_is_killed_after_the_time_of_its_task(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Wait"), sandbox) as (talk, near):
        near.hangs = True
        (said,) = await talk.say("hi")
        assert "it ran out of time" in said
        assert len(near.started) == 1


async def test_a_token_opens_nothing_when_its_process_has_ended(sandbox: MontySandbox) -> None:
    issued: list[str] = []
    async with isolated(ordering("Study", "tides"), sandbox) as (talk, near):
        issue = near.isolated.tokens.issue

        def watched(session: str, epoch: int, holder: object) -> str:
            issued.append(issue(session, epoch, holder))  # type: ignore[arg-type]
            return issued[-1]

        near.isolated.tokens.issue = watched  # type: ignore[method-assign]
        await talk.say("hi")
        (token,) = issued
        await talk.until(lambda: near.isolated.tokens.holder(token) is None)


async def test_an_isolation_that_is_gone_ends_the_task_and_never_weakens_it(sandbox: MontySandbox) -> None:
    async with isolated(ordering("Study", "tides"), sandbox) as (talk, near):
        near.isolated.settings = IsolationSettings(default="systemd")
        (said,) = await talk.say("hi")
        assert 'it needs the isolation "systemd", which this gateway no longer has' in said
        assert near.started == []


async def lived(
    case: Case, sandbox: MontySandbox, *, crashes: tuple[int, ...], seed: int, kills: bool = False
) -> World:
    world, model = World(case.people, crashes=crashes, seed=seed), Company(case, random.Random(seed))
    near = NearAgents(case.program, lambda: world.tasks, model, sandbox, world.clock)
    async with anyio.create_task_group() as tasks:
        if kills:
            tasks.start_soon(_kill_now_and_then, near, random.Random(seed))
        await live(world, case.program, model, sandbox, task_conversation=near.conversations)
        tasks.cancel_scope.cancel()
    return world


async def _kill_now_and_then(near: NearAgents, rng: random.Random) -> None:
    """Kill some of the first processes after some steps of the loop."""
    for number in range(DEATHS - 2):
        while len(near.started) <= number:
            await anyio.lowlevel.checkpoint()
        for _ in range(rng.randrange(120)):
            await anyio.lowlevel.checkpoint()
        near.started[number].scope.cancel()


async def test_isolated_tasks_are_done_and_answered_once_when_the_node_dies_at_a_point(
    sandbox: MontySandbox,
) -> None:
    case = TASKS["tasks"]
    await dying_often(partial(lived, case, sandbox), partial(check_tasks, case=case), lives=30, times=1, points=90)


async def test_a_task_that_had_ended_when_its_node_died_still_gives_back_its_result(sandbox: MontySandbox) -> None:
    case = TASKS["tasks"]
    world = await lived(case, sandbox, crashes=(28,), seed=28)
    assert world.deaths == 1
    check_tasks(world, case)


@pytest.mark.parametrize("name", ["tasks", "a task asks for words"])
async def test_isolated_tasks_are_done_and_answered_once_when_processes_and_nodes_die(
    name: str, sandbox: MontySandbox
) -> None:
    case = TASKS[name]
    kills = partial(lived, case, sandbox, kills=True)
    await dying_often(kills, partial(check_tasks, case=case), lives=10, times=1)
