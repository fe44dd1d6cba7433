"""Results that another conversation is told: only one that the settings name, and once."""

from functools import partial

import pytest

from runtime.core.address import Address
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.orders import TaskLimits
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

TEAM = Address("test", "team")
PLACES = {"team": TEAM}

RUNNER = """
async def Fetch(what):
    return what

async def Break():
    raise ValueError("it broke")

async def Rest():
    await Sleep(500)
"""


def running(code: str) -> Program:
    can = [python("Fetch", "what", public=True), python("Break", public=True), python("Rest", public=True)]
    hears = '\n    for message in await WaitForMessage("*"):\n        await Say("user", "heard " + message["text"])'
    main = agent("Main", MAIN, code=f"async def Main():{code}{hears}")
    return program(main, agent("Runner", *can, code=RUNNER))


def said_in(talk: Talk, place: Address) -> list[str]:
    """What people see in a conversation."""
    return [shown.text for shown in talk.world.chat if shown.spec is not None and shown.spec.address == place]


talk_of = partial(talking, tasks=TaskLimits(), task_places=PLACES)


async def test_the_people_of_a_place_are_told_and_its_orderer_is_not(sandbox: MontySandbox) -> None:
    code = """
    one = await Spawn("Runner", "Fetch", ["bread"], deliver="team")
    await Spawn("Runner", "Break", deliver="team")
    await Say("user", await Result(one))
"""
    async with talk_of(running(code), Model(), sandbox) as talk:
        await talk.say("hi")
        assert sorted(said_in(talk, TEAM)) == ["⚠️ Runner.Break failed: it broke", "✅ Runner.Fetch is done: bread"]
        assert said_in(talk, ADDRESS) == ["bread"]


@pytest.mark.parametrize(
    "deliver",
    [
        '"test:team"',
        '"telegram:-100"',
        '"test"',
        '["test", "team", None]',
        '{"team": 1}',
        '""',
        '"TEAM"',
        '"task:x"',
    ],
)
async def test_nothing_but_a_name_of_the_settings_is_taken(deliver: str, sandbox: MontySandbox) -> None:
    code = f"""
    try:
        await Spawn("Runner", "Fetch", ["hostile"], deliver={deliver})
    except Exception as error:
        await Say("user", str(error))
"""
    async with talk_of(running(code), Model(), sandbox) as talk:
        await talk.say("hi")
        assert len(talk.chat) == 1
        assert {shown.spec.address for shown in talk.world.chat if shown.spec is not None} == {ADDRESS}
        assert not talk.facts("spawn")


async def test_a_place_that_is_not_named_any_more_is_not_told_and_who_ordered_it_is() -> None:
    world = World(())
    code = '\n    await Spawn("Runner", "Rest", deliver="team")'
    async with talking(running(code), Model(), world=world, tasks=TaskLimits(), task_places=PLACES) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.kind == "order_begun" for fact in world.facts))
        talk.registry.lost(0)
    async with talking(running(code), Model(), world=world, tasks=TaskLimits()) as talk:
        await talk.until(lambda: any("heard Task 1, Runner.Rest, is completed" in text for text in talk.chat))
        assert said_in(talk, TEAM) == []


async def test_what_a_place_is_told_is_no_command_and_reaches_no_agent(sandbox: MontySandbox) -> None:
    code = '\n    await Spawn("Runner", "Fetch", ["/new @everyone"], deliver="team")'
    async with talk_of(running(code), Model(), sandbox) as talk:
        await talk.say("hello", at=TEAM)
        before = len(talk.facts("begin"))
        await talk.say("hi")
        assert "✅ Runner.Fetch is done: /new @everyone" in said_in(talk, TEAM)
        assert not any("heard" in text for text in said_in(talk, TEAM))
        assert len(talk.facts("begin")) == before + 2


async def test_a_cancelled_task_is_told_of_nowhere(sandbox: MontySandbox) -> None:
    code = '\n    await Cancel(await Spawn("Runner", "Rest", deliver="team"))'
    async with talk_of(running(code), Model(), sandbox) as talk:
        await talk.say("hi")
        assert talk.chat == []
