"""What stays in memory of sessions in which nothing goes on."""

from __future__ import annotations

import asyncio
import gc

import anyio
import pytest

from runtime.core.address import Address
from runtime.execution.frames.signatures import CallShape
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.idle import RestingSessions
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program
from tests.unit.runtime.sessions.test_session_life import echo

pytestmark = pytest.mark.anyio

ROOMS = [Address("test", f"room {number}") for number in range(20)]
GREETING = block('await Step("Main:01:QUE")', 'await Say("user", "Hello to you!")', 'await Yld("user")')


async def test_of_sessions_that_rest_only_so_many_stay_in_memory_and_all_go_on_when_spoken_to(
    sandbox: MontySandbox,
) -> None:
    async with talking(echo(), Model(), sandbox, resting=RestingSessions(3)) as talk:
        for text in ("hello", "one", "two"):
            for room in ROOMS:
                await talk.say(text, at=room)
                await talk.until(lambda: len(talk.registry) <= 3)
        assert len(talk.named("session.rested")) == 3 * len(ROOMS) - 3
        assert talk.chat.count("Ada: one") == talk.chat.count("Ada: two") == len(ROOMS)
        assert not talk.world.waiting


async def test_who_was_spoken_to_last_is_still_in_memory(sandbox: MontySandbox) -> None:
    async with talking(echo(), Model(), sandbox, resting=RestingSessions(2)) as talk:
        for room in (0, 1, 0, 2):
            await talk.say("hello", at=ROOMS[room])
        await talk.until(lambda: len(talk.registry) == 2)
        (rested,) = talk.named("session.rested")
        assert rested.data["conversation"] == ROOMS[1].key


async def test_a_session_at_work_does_not_leave_memory_for_others_that_rest(sandbox: MontySandbox) -> None:
    gate = anyio.Event()
    model = Model(Reply(GREETING.text, gate=gate), GREETING, GREETING, GREETING)
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    resting = RestingSessions(1)
    async with talking(greeter, model, sandbox, resting=resting) as talk:
        talk.post("hi", at=ROOMS[0])
        await model.writing.wait()
        for room in ROOMS[1:4]:
            talk.post("hi", at=room)
        await talk.until(lambda: talk.chat.count("Hello to you!") == 3)
        await talk.until(lambda: len(talk.registry) == 2)
        gate.set()
        await talk.until(lambda: talk.chat.count("Hello to you!") == 4)
        await talk.until(lambda: len(talk.registry) == 1)
        assert not talk.named("session.restored")
        assert len(resting) == 1


async def test_a_session_that_has_left_memory_is_forgotten_here_too(sandbox: MontySandbox) -> None:
    resting = RestingSessions(idle_s=0.001)
    async with talking(echo(), Model(), sandbox, resting=resting) as talk:
        await talk.say("hello")
        await talk.rested()
        assert len(resting) == 0


def shapes() -> int:
    gc.collect()
    return sum(isinstance(one, CallShape) for one in gc.get_objects())


async def test_a_resting_session_has_two_tasks_and_shares_what_every_program_may_call(sandbox: MontySandbox) -> None:
    model = Model(*[GREETING] * len(ROOMS))
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    async with talking(greeter, model, sandbox) as talk:
        await talk.say("hi", at=ROOMS[0])
        tasks, objects = len(asyncio.all_tasks()), shapes()
        for room in ROOMS[1:]:
            await talk.say("hi", at=room)
        more = len(ROOMS) - 1
        assert talk.chat == ["Hello to you!"] * len(ROOMS)
        assert (len(asyncio.all_tasks()) - tasks) / more <= 2
        assert shapes() == objects
