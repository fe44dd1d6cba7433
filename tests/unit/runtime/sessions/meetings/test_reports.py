"""What people see of meetings in which only agents are."""

from typing import Any

import pytest
from msgspec.structs import replace

from runtime.language.program import Program
from runtime.meetings.meeting import MeetingHabits, Show
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

HOST = """
async def Main():
    await Say("user", "hello")
    for message in await WaitForMessage("user"):
        await Say("user", f"we chose {await Talk()}")

async def Talk():
    await Say("meeting", "Guest, what do you suggest?")
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("a boat"):
                await Say("user", "we are getting there")
                return %s
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
            if "suggest" in message["text"]:
                await Say("meeting", "a boat")
"""

BEGUN = "👥 Host, Guest are now in a meeting: Transport"
SAID = ["Guest, what do you suggest?", "a boat"]


def pair(returns: str = '"a red boat"', **metadata: Any) -> Program:
    about = {"required_attendees": ["Guest"], "topic": "Transport"} | metadata
    host = agent("Host", MAIN, python("Talk", meeting=True, **about), code=HOST % returns)
    return program(host, agent("Guest", python("Join", meeting=True), code=GUEST))


async def met(talk: Talk) -> list[str]:
    """What people see once the two have met."""
    await talk.say("hi")
    return await talk.say("go")


def habits(show: Show) -> MeetingHabits:
    return MeetingHabits(show=show)


async def test_all_that_agents_say_in_meetings_is_shown_unless_wanted_otherwise() -> None:
    async with talking(pair(), Model()) as talk:
        assert await met(talk) == [*SAID, "we are getting there", "we chose a red boat"]


async def test_a_summary_says_who_met_and_what_came_of_it() -> None:
    async with talking(pair(), Model(), meetings=habits("summaries")) as talk:
        assert await met(talk) == [
            BEGUN,
            "we are getting there",
            "👥 The meeting “Transport” has ended: a red boat",
            "we chose a red boat",
        ]


@pytest.mark.parametrize(
    ("returns", "told"),
    [
        ('{"boats": [1, 2]}', ': {"boats": [1, 2]}'),
        ('"long " * 200', ": " + ("long " * 100)[:499].rstrip() + "…"),
        ('"two\\nlines"', ": two lines"),
        ("None", ": Host: “Guest, what do you suggest?” Guest: “a boat”"),
        ('await Var("__", "the agent\'s own words") and None', ": the agent's own words"),
    ],
)
async def test_what_came_of_it_is_the_value_else_the_hosts_summary_else_what_was_said_last(
    returns: str, told: str
) -> None:
    async with talking(pair(returns), Model(), meetings=habits("summaries")) as talk:
        assert f"👥 The meeting “Transport” has ended{told}" in await met(talk)


async def test_a_host_that_fails_is_summed_up_as_that() -> None:
    async with talking(pair("1 / 0"), Model(), meetings=habits("summaries")) as talk:
        assert "👥 The meeting “Transport” failed: division by zero" in await met(talk)


async def test_nothing_is_shown_of_meetings_but_what_is_said_to_people() -> None:
    async with talking(pair(), Model(), meetings=habits("none")) as talk:
        assert await met(talk) == ["we are getting there", "we chose a red boat"]


@pytest.mark.parametrize(("settings", "metadata", "shown"), [("all", "none", []), ("none", "all", SAID)])
async def test_a_program_may_say_something_else_for_a_meeting(settings: Show, metadata: str, shown: list[str]) -> None:
    async with talking(pair(show=metadata), Model(), meetings=habits(settings)) as talk:
        assert await met(talk) == [*shown, "we are getting there", "we chose a red boat"]


SLOW = """
async def Main():
    await Say("user", "hello")
    for message in await WaitForMessage("user"):
        await Say("user", f"we chose {await Talk()}")

async def Talk():
    await Say("meeting", "one")
    await WaitForMessage("user")
    await Say("meeting", "two")
    return "a boat"
"""


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("all", "none", ["one", "we chose a boat"]),
        ("none", "all", ["two", "we chose a boat"]),
        ("none", "summaries", ["👥 The meeting “Talk” has ended: a boat", "we chose a boat"]),
        ("summaries", "none", ["👥 Host, Guest are now in a meeting: Talk", "we chose a boat"]),
    ],
)
async def test_what_the_settings_say_now_holds_also_for_a_meeting_that_goes_on_over_a_restart(
    before: Show, after: Show, shown: list[str]
) -> None:
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=SLOW)
    made, world = program(host, agent("Guest", python("Join", meeting=True), code=GUEST)), World(())
    async with talking(made, Model(), world=world, meetings=habits(before)) as talk:
        await met(talk)
    async with talking(made, Model(), world=world, meetings=habits(after), after="go on") as talk:
        assert talk.chat == ["hello", *shown]


async def test_what_a_model_writes_for_agents_alone_is_not_shown_while_it_grows_either() -> None:
    talk_about = replace(llm("Talk"), metadata={"meeting": True, "required_attendees": ["Guest"]})
    code = "async def Main():\n    await Say('user', f'we chose {await Talk()}')\n"
    made = program(agent("Host", MAIN, talk_about, code=code), agent("Guest", python("Join", meeting=True), code=GUEST))
    reply = block('await Say("meeting", "nobody else reads this")', 'await Var("__", "done")', 'await Return("it")')
    async with talking(made, Model(reply), meetings=habits("none")) as talk:
        assert await talk.say("go") == ["we chose it"]
        assert [text for shown in talk.world.chat for text in shown.texts if "nobody" in text] == []
        assert talk.named("stream.started") == []
