"""Lines that programs write into the log: once, whatever happens to the process."""

from __future__ import annotations

import random

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World, live
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.programs import agent, llm, program, python

pytestmark = pytest.mark.anyio

MAIN = python("Main", trigger="BGN When program starts")


def talkative(code: str) -> Case:
    return Case(program(agent("Shop", MAIN, code=f"async def Main():\n{code}")), ((),), ("go", "on"), ())


async def test_a_line_names_who_wrote_it_with_values_by_name(sandbox: MontySandbox) -> None:
    case = talkative('    await Log("sold", pieces=3, to={"city": "Oslo"})\n    await Say("user", "done")')
    async with talking(case.program, Model(), sandbox) as talk:
        assert (await talk.say("go"))[0] == "done"
    (event,) = talk.named("program.logged")
    assert event.data == {
        "session_id": event.data["session_id"],
        "frame": "1000.0",
        "agent_id": "1000",
        "agent": "Shop",
        "playbook": "Main",
        "program": "test",
        "line": "sold",
        "values": {"pieces": 3, "to": {"city": "Oslo"}},
    }


async def test_a_model_writes_lines_too(sandbox: MontySandbox) -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Log("asked", who="Ada")', 'await Yld("user")'))
    shop = program(agent("Main", llm("Main", "01:QUE Log who asked; YLD for user", begins=True)))
    async with talking(shop, model, sandbox) as talk:
        await talk.say("go")
    assert [event.data["values"] for event in talk.named("program.logged")] == [{"who": "Ada"}]
    assert '`await Log("text", name=value)`' in model.asked[0][0].content


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("Log()", "Log needs 'text'; it is called as Log(\"sold\", pieces=3)"),
        ('Log("a", "b")', 'Log takes 1 argument (text), not 2; it is called as Log("sold", pieces=3)'),
        ('Log("a", **{f"v{n}": n for n in range(51)})', "Log takes at most 50 values, not 51"),
        ('Log("a", what=object())', "a value that Log was given is not data"),
    ],
)
async def test_what_cannot_be_written_is_an_error_of_the_call(call: str, error: str, sandbox: MontySandbox) -> None:
    code = f'    try:\n        await {call}\n    except PlaybookError as error:\n        await Say("user", str(error))'
    async with talking(talkative(code).program, Model(), sandbox) as talk:
        assert (await talk.say("go"))[0].startswith(error)
        assert not talk.named("program.logged")


async def test_a_line_is_never_written_twice_when_the_process_dies_at_any_point(sandbox: MontySandbox) -> None:
    case = talkative(
        """    await Log("one")
    await WaitForMessage("user")
    await Log("two", n=2)
    await Say("user", "done")
    await EndProgram()"""
    )

    async def run(*, crashes: tuple[int, ...], seed: int) -> World:
        world = World(case.people, crashes=crashes, seed=seed)
        await live(world, case.program, Company(case, random.Random(seed)), sandbox)
        return world

    def check(world: World) -> None:
        assert [shown.text for shown in world.chat] == ["done"]
        assert len(world.logged) == len(set(world.logged))
        if not world.deaths:
            assert world.logged == ["one", "two"]

    await dying_at_each_point(run, check)


async def test_what_an_agent_says_is_routed_with_its_own_words_for_whom_it_is(sandbox: MontySandbox) -> None:
    case = talkative('    await Say("Clerk", "three words here")\n    await Say("user", "done")')
    both = program(*case.program.agents, agent("Clerk", python("Idle"), code="async def Idle():\n    pass"))
    async with talking(both, Model(), sandbox) as talk:
        await talk.say("go")
    routed = [event.data for event in talk.named("message.routed")]
    assert [(data["sender_id"], data["receiver_spec"], data["message_length"]) for data in routed] == [
        ("1000", "Clerk", 16),
        ("1000", "user", 4),
    ]
