"""Meetings of which a program was changed while they went on: they go on without whom it has no part for any more."""

import random

import pytest

from runtime.language.program import AgentSpec, Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import Scripted, World, live
from tests.fakes.people.talk import Model, answered, talking
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

HOST = """
async def Main():
    await Say("user", f"we chose {await Talk()}")

async def Talk():
    await Say("meeting", "Welcome")
    while True:
        for message in await WaitForMessage("meeting"):
            if message["type"] != "meeting_notice" or "left" in message["text"]:
                await Say("user", f"heard: {message['text']}")
            if message["text"] == "and you?":
                await Say("meeting", message["text"])
            if message["text"] == "a boat":
                return "a boat"
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "and you?":
                await Say("meeting", "a boat")
            if message["text"] == "Meeting has ended":
                return
"""

CANNOT = "⚠️ This conversation cannot continue: {}. /new starts another."


def guest(name: str, code: str = GUEST, *, playbook: str = "Join") -> AgentSpec:
    return agent(name, python(playbook, meeting=True), code=code.replace("Join", playbook))


def meeting(*guests: AgentSpec, talk: str = "Talk") -> Program:
    talks = python(talk, meeting=True, required_attendees=["First", "Second"])
    return program(agent("Host", MAIN, talks, code=HOST), *guests)


async def met() -> World:
    """Two guests are in a meeting, and its process is gone."""
    async with talking(meeting(guest("First"), guest("Second")), Model()) as talk:
        assert await talk.say("go") == ["Welcome"]
    return talk.world


STRICT = GUEST.replace('await WaitForMessage("meeting")', 'await WaitForMessage("agent 1000")')


@pytest.mark.parametrize(
    "left",
    [
        pytest.param([guest("First", playbook="Other"), guest("Second")], id="its playbook is gone"),
        pytest.param([guest("First", STRICT), guest("Second")], id="its playbook does something else"),
        pytest.param([guest("Second")], id="the agent is gone"),
    ],
)
async def test_a_meeting_goes_on_without_the_guest_that_a_changed_program_has_no_part_for(
    left: list[AgentSpec],
) -> None:
    world = await met()
    async with talking(meeting(*left), Model(), world=world) as later:
        seen = await later.say("and you?")
        assert "heard: First has left the meeting (the program was changed)" in seen
        assert seen[-1] == "we chose a boat"
        assert not later.named("session.failed")


async def test_a_meeting_ends_when_none_of_its_guests_is_left() -> None:
    world = await met()
    async with talking(meeting(), Model(), world=world) as later:
        seen = await later.say("and you?")
        assert "heard: Second has left the meeting (the program was changed)" in seen
        assert not later.named("session.failed")


async def test_where_the_host_cannot_go_on_nothing_does_and_what_hinders_is_named() -> None:
    world = await met()
    without = meeting(guest("First"), guest("Second"), talk="Discuss")
    async with talking(without, Model(), world=world) as later:
        assert await later.say("and you?") == [
            CANNOT.format("Main was changed before the point at which it is being executed here")
        ]


async def test_who_was_left_out_stays_so_after_another_restart() -> None:
    world = await met()
    await answered(meeting(guest("Second")), Model(), "hm", world=world)
    async with talking(meeting(guest("First"), guest("Second")), Model(), world=world) as back:
        seen = await back.say("and you?")
        assert seen[-1] == "we chose a boat"
        assert len([text for text in back.chat if "has left" in text]) == 1


@pytest.mark.parametrize("left", [[guest("Second")], [guest("First", STRICT), guest("Second")]], ids=["gone", "other"])
async def test_a_guest_is_left_out_once_whenever_the_process_dies(left: list[AgentSpec], sandbox: MontySandbox) -> None:
    async def run(*, crashes: tuple[int, ...], seed: int) -> World:
        world, nobody = World(["go"], seed=seed), Scripted([], random.Random(seed))
        await live(world, meeting(guest("First"), guest("Second")), nobody, sandbox)
        world.people.append("and you?")
        world.die_at(*crashes)
        await live(world, meeting(*left), nobody, sandbox)
        return world

    def check(world: World) -> None:
        chat = [shown.text for shown in world.chat]
        assert chat[0] == "Welcome"
        assert chat[-1] == "we chose a boat"
        assert chat.count("heard: First has left the meeting (the program was changed)") == 1
        assert len(chat) == len(set(chat))

    deadly = await dying_at_each_point(run, check)
    assert deadly > 0.8
