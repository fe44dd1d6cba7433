"""Agents who talk with each other in Python: what it costs, and that it does not run ahead of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import anyio
import anyio.lowlevel

from runtime.execution.frames.loop import FrameLoop
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.snapshots import AT_WORK, FACTS_BETWEEN
from runtime.stores.sessions import Commit
from runtime.tape.journal import MAX_PENDING
from runtime.tape.snapshot import rules_version
from runtime.tape.tape import tape_owner
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, program, python

MAIN = python("Main", trigger="BGN When program starts")

FOR_EVER = 10**6


class CountingLoop(FrameLoop):
    """Counts the tasks that are begun."""

    begun = 0

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        self.begun += 1
        return super().create_task(coro, **more)


def run(work: Coroutine[Any, Any, None]) -> CountingLoop:
    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work)
    return loop


def telling(messages: int) -> Program:
    """One agent tells another so many things, which it hears one by one."""
    tells = f"""
async def Main():
    for number in range({messages}):
        await Say("Clerk", str(number))
"""
    hears = f"""
async def Main():
    heard = []
    while len(heard) < {messages}:
        heard += [message["text"] for message in await WaitForMessage("*")]
    assert heard == [str(number) for number in range({messages})]
    await Say("user", "heard")
    await EndProgram()
"""
    return program(agent("Teller", MAIN, code=tells), agent("Clerk", MAIN, code=hears))


async def hold(messages: int) -> None:
    async with MontySandbox(max_workers=1) as sandbox, talking(telling(messages), Model(), sandbox) as talk:
        assert await talk.say("go") == ["heard"]


def test_what_is_said_to_another_agent_and_heard_there_begins_no_task() -> None:
    few, many = run(hold(20)).begun, run(hold(220)).begun
    assert many - few < 20


class Stalling(World):
    """A store that takes no more commits until it is told to."""

    def __init__(self) -> None:
        super().__init__(())
        self.answers = anyio.Event()
        self.answers.set()

    async def commit(self, commit: Commit, /) -> None:
        await self.answers.wait()
        await super().commit(commit)


async def _stall() -> None:
    world = Stalling()
    async with (
        MontySandbox(max_workers=1) as sandbox,
        talking(telling(FOR_EVER), Model(), sandbox, world=world) as talk,
    ):
        talk.post("go")
        await talk.until(lambda: len(talk.named("message.delivered")) > MAX_PENDING)
        world.answers = anyio.Event()
        before = len(talk.named("message.delivered"))
        for _ in range(20 * MAX_PENDING):
            await anyio.lowlevel.checkpoint()
        assert len(talk.named("message.delivered")) - before < MAX_PENDING
        world.answers.set()
        await talk.until(lambda: len(talk.named("message.delivered")) - before > MAX_PENDING)


def test_while_the_store_does_not_answer_only_so_much_goes_on() -> None:
    run(_stall())


async def _snapshots() -> None:
    world = World(())
    async with (
        MontySandbox(max_workers=1) as sandbox,
        talking(telling(FOR_EVER), Model(), sandbox, world=world) as talk,
    ):
        talk.post("go")
        await talk.until(lambda: len(world.facts) > 2 * AT_WORK * FACTS_BETWEEN)
        (session,) = {tape_owner(fact.tape) for fact in world.facts}
        kept = await world.snapshot(session, rules_version())
        assert kept is not None
        assert kept.seq > AT_WORK * FACTS_BETWEEN / 2


def test_agents_who_never_stop_talking_have_snapshots() -> None:
    run(_snapshots())
