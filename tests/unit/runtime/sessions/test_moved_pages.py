"""A place that is closed while an agent answers there: what it says is shown elsewhere."""

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.texts import english
from tests.fakes.crashes.world import ADDRESS
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import Stage, seen_at
from tests.unit.runtime.sessions.programs import MAIN, agent, program

TOPIC = replace(ADDRESS, thread="t7")
ALONE = Address("test", "alone with test:Ada")
MOVED = english()("session.moved") + "\n\n"

ECHO = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "ask":
                await Say("user", "chosen: " + await Ask("Which?", ["a", "b"]))
            else:
                await Say("user", "heard " + message["text"])
"""
MADE = program(agent("Host", MAIN, code=ECHO))


@pytest.mark.parametrize(
    ("closed", "where"), [((TOPIC,), ADDRESS), ((TOPIC, ADDRESS), ALONE)], ids=["a topic", "its group too"]
)
async def test_what_is_refused_goes_to_what_it_is_in_and_from_there_to_who_asked(
    closed: tuple[Address, ...], where: Address
) -> None:
    stage = Stage()
    async with stage.talking(MADE) as talk:
        await talk.say("hi", at=TOPIC, private=False, name="Bob")
        await talk.say("one", at=TOPIC, private=False, name="Bob")
        stage.world.gone |= set(closed)
        await talk.say("two", at=TOPIC, private=False)
        assert (seen_at(talk, TOPIC), seen_at(talk, where)) == (["heard one"], [MOVED + "heard two"])
    async with stage.talking(MADE) as talk:
        stage.world.gone.clear()
        await talk.say("three", at=TOPIC, private=False)
        assert seen_at(talk, TOPIC)[-1] == "heard three"
        assert seen_at(talk, where) == [MOVED + "heard two"]


async def test_what_nobody_can_be_told_anywhere_is_said_to_be_lost_and_the_agent_goes_on() -> None:
    stage = Stage()
    async with stage.talking(MADE) as talk:
        await talk.say("hi", at=TOPIC, private=False)
        stage.world.gone |= {TOPIC, ADDRESS, ALONE}
        await talk.say("one", at=TOPIC, private=False)
        assert [event.data["delivered"] for event in talk.named("page.finished")] == [False]
        stage.world.gone.clear()
        await talk.say("two", at=TOPIC, private=False)
        assert seen_at(talk, TOPIC) == ["heard two"]


async def test_a_private_conversation_goes_nowhere_else() -> None:
    stage = Stage()
    async with stage.talking(MADE) as talk:
        await talk.say("hi", private=True)
        stage.world.gone.add(ADDRESS)
        await talk.say("one", private=True)
        assert talk.chat == []


async def test_what_a_schedule_has_said_is_for_nobody_in_private() -> None:
    stage, schedule = Stage(), "schedule:daily"
    async with stage.talking(MADE) as talk:
        await talk.say("hi", at=ADDRESS, private=False, name="Bob")
        await talk.say("one", at=ADDRESS, private=False, name="daily", person_id=schedule)
        stage.world.gone.add(ADDRESS)
        await talk.say("two", at=ADDRESS, private=False, name="daily", person_id=schedule)
        assert talk.named("page.finished")[-1].data["delivered"] is False
        assert seen_at(talk, Address("test", f"alone with {schedule}")) == []
        assert seen_at(talk, Address("test", "alone with test:Bob")) == []


async def test_a_notice_is_told_to_who_came_last() -> None:
    stage = Stage()
    async with stage.talking(MADE) as talk:
        await talk.say("hi", at=ADDRESS, private=False)
        stage.world.gone.add(ADDRESS)
        await talk.say("", at=ADDRESS, private=False, kind="who")
        assert seen_at(talk, ALONE)[0].startswith(MOVED)


async def test_a_question_is_asked_where_it_can_be_and_is_no_longer_open_below_it() -> None:
    stage = Stage()
    async with stage.talking(MADE) as talk:
        await talk.say("hi", at=TOPIC, private=False)
        stage.world.gone.add(TOPIC)
        await talk.say("ask", at=TOPIC, private=False)
        assert seen_at(talk, ADDRESS) == [MOVED + "Which?\n\n- a\n- b"]
        assert [one.spec.choices for one in talk.world.chat if one.spec and one.spec.address == ADDRESS] == [()]
        stage.world.gone.clear()
        await talk.say("b", at=TOPIC, private=False)
        assert seen_at(talk, TOPIC)[-1] == "chosen: b"
