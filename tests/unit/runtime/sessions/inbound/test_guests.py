"""Guests see that agents work and that something failed, and nothing of how the program is made."""

import pytest

from runtime.language.program import Program
from runtime.stores.inbox import FORK_WANTED
from runtime.stores.orders import TaskLimits
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python, walked

CODE = """
async def LookUpTaxCodes():
    await Now()
    return 1 / 0
"""

WENT_WRONG = "⚠️ Something went wrong. Your next message begins anew."
FAILED = "⚠️ Look up tax codes failed: division by zero. Your next message begins anew."


def taxes() -> Program:
    main = walked("Main", "01:YLD for user", "02:QUE LookUpTaxCodes()", begins=True)
    return program(agent("Tax", main, python("LookUpTaxCodes"), code=CODE))


async def test_a_guest_sees_that_an_agent_works_and_that_something_went_wrong() -> None:
    async with talking(taxes(), Model()) as talk:
        await talk.say("hi", by_guest=True)
        assert await talk.say("go", by_guest=True) == [WENT_WRONG]
        assert talk.world.typed_at
        assert not any(talk.world.doing)


async def test_who_is_no_guest_sees_what_an_agent_does_and_what_failed() -> None:
    async with talking(taxes(), Model(), after="hi") as talk:
        assert await talk.say("go") == [FAILED]
        assert "Look up tax codes" in talk.world.doing


async def test_with_a_guest_among_them_nobody_in_the_conversation_sees_it_also_after_a_restart() -> None:
    async with talking(taxes(), Model()) as talk:
        await talk.say("hi", name="Gus", by_guest=True)
    async with talking(taxes(), Model(), world=talk.world) as later:
        assert await later.say("go", name="Ada") == [WENT_WRONG]


async def test_a_guest_who_becomes_a_member_sees_it() -> None:
    async with talking(taxes(), Model()) as talk:
        await talk.say("hi", by_guest=True)
        assert await talk.say("go") == [FAILED]


MEETING = """
async def Main():
    for message in await WaitForMessage("user"):
        await Talk()

async def Talk():
    return 1 / 0
"""


@pytest.mark.parametrize(
    ("guest", "told"),
    [
        (True, "👥 The meeting “Transport” has ended, because something went wrong."),
        (False, "👥 The meeting “Transport” failed: division by zero"),
    ],
)
async def test_a_guest_reads_of_a_failed_meeting_without_the_error(guest: bool, told: str) -> None:
    talk_ = python("Talk", meeting=True, required_attendees=[], topic="Transport", show="summaries")
    async with talking(program(agent("Host", MAIN, talk_, code=MEETING)), Model()) as talk:
        await talk.say("hi", by_guest=guest)
        seen = await talk.say("go", by_guest=guest)
        assert told in seen
        assert not guest or not any("division" in line for line in seen)


ORDERS = """
async def Main():
    for message in await WaitForMessage("user"):
        await Result(await Spawn("Clerk", "Look"))
"""


async def test_a_guest_stays_one_in_a_copy_of_the_conversation_and_in_a_task() -> None:
    clerk = agent("Clerk", python("Look", public=True), code="async def Look():\n    return 1\n")
    made = program(agent("Tax", MAIN, code=ORDERS), clerk)
    async with talking(made, Model(), tasks=TaskLimits()) as talk:
        await talk.say("hi", by_guest=True)
        await talk.say("go", by_guest=True)
        await talk.say("", kind=FORK_WANTED, by_guest=True)
        assert len(talk.world.threads) == 1
        met = [fact.data for fact in talk.world.facts if fact.kind == "person"]
        assert [data.get("guest", False) for data in met] == [True, True]  # there and in the task; the copy knows
