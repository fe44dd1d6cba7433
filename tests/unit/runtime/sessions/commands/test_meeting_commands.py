"""What people order of agents and meetings in a chat."""

import re
from typing import Any

import anyio
import pytest

from runtime.language.program import Program
from tests.fakes.crashes.world import TurboClock, World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import Stage, there
from tests.unit.runtime.sessions.programs import GUEST, MAIN, agent, program, python

HOST = """
async def Main():
    await Say("user", f"it is over: {await Plan()}")
    await EndProgram()

async def Plan():
    await Share("budget", 1200)
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return await Shared("budget")
"""


def planning(**attendees: Any) -> Program:
    """A meeting that goes on until somebody ends it; Cook is invited by nobody."""
    plan = python("Plan", meeting=True, **attendees)
    others = [agent(name, python("Join", meeting=True), code=GUEST) for name in ("Guest", "Cook")]
    return program(agent("Host", MAIN, plan, code=HOST), *others)


TWO = program(
    *(
        agent(
            name,
            MAIN,
            python(topic, meeting=True),
            code=f"""
async def Main():
    await {topic}()
    await Say("user", "{name} is done")

async def {topic}():
    await WaitForMessage("agent {1001 - number}")
""",
        )
        for number, (name, topic) in enumerate([("One", "Lunch"), ("Two", "Dinner")])
    )
)


def timeless(texts: list[str]) -> list[str]:
    """What was said, without how long things have lasted."""
    return [re.sub(r" · \d+ (s|min)", "", text) for text in texts]


async def order(talk: Talk, kind: str, text: str = "", **more: Any) -> list[str]:
    return timeless(await talk.say(text, kind=kind, **more))


async def test_where_no_meeting_goes_on_that_is_said() -> None:
    code = "async def Main():\n    await WaitForMessage('user')\n"
    async with talking(program(agent("Alone", MAIN, code=code)), Model(), after="go") as talk:
        for kind, text in [("meeting", ""), ("meeting", "end"), ("meeting", "100"), ("invite", "Guest")]:
            assert await order(talk, kind, text) == ["There is no meeting right now."]
        assert await order(talk, "leave") == ["You are not in a meeting."]


@pytest.mark.parametrize("kind", ["agents", "meeting", "invite", "leave"])
async def test_where_nothing_runs_that_is_said(kind: str) -> None:
    async with talking(planning(), Model()) as talk:
        talk.post("", kind=kind)
        await talk.rested()
        assert (talk.chat, len(talk.world.dismissed)) == (["Nothing is running."], 1)
        assert talk.world.discarded == []


async def test_a_meeting_is_shown_with_who_is_in_it_since_when_and_what_they_share() -> None:
    attendees = {"required_attendees": ["Guest"], "optional_attendees": ["Ada"]}
    async with talking(planning(**attendees), Model(), after="go") as talk:
        shown = await talk.say("", kind="meeting")
        assert all(re.search(r" · \d+ (s|min)$", line) for line in shown[0].split("\n")[:4])
        assert timeless(shown)[0].split("\n") == [
            "**Meeting 100: Plan**",
            "- Host, host",
            "- Ada",
            "- Guest (agent)",
            "",
            "Shared values:",
            "- budget = `1200` · version 1, Host",
            "",
            "There are no messages yet.",
        ]
        assert await talk.say("100", kind="meeting") == shown
        assert await order(talk, "meeting", "101") == ["There is no meeting 101. Current meetings: 100 (Plan)."]
        assert await order(talk, "meeting", "dance") == [USAGE]


USAGE = "/meeting · /meeting 100 · /meeting [100] end · /meeting [100] set NAME VALUE"


async def test_what_people_say_in_a_meeting_is_counted() -> None:
    async with talking(planning(optional_attendees=["Ada"]), Model(), after=("go", "hello all")) as talk:
        assert (await order(talk, "meeting"))[0].endswith("\n\nMessages so far: 1")


async def test_of_several_meetings_one_is_named_by_its_number() -> None:
    async with talking(TWO, Model(), after="go") as talk:
        assert await order(talk, "meeting") == [
            "There are several meetings. /meeting NUMBER shows one of them.\n"
            "- Meeting 100: Lunch · 1 in it\n- Meeting 101: Dinner · 1 in it"
        ]
        assert (await order(talk, "meeting", "101"))[0].startswith("**Meeting 101: Dinner**")
        which = "There are several meetings: 100 (Lunch), 101 (Dinner). Say which one by its number."
        assert await order(talk, "meeting", "end") == [which]
        assert await order(talk, "invite", "Ada") == [which]
        assert "Ada is invited to meeting 101." in await order(talk, "invite", "Ada to 101")
        assert (await order(talk, "meeting"))[0].startswith("**Meeting 101: Dinner**")  # it is the one she is in
        assert "Meeting 100 has ended." in await order(talk, "meeting", "100 end")
        assert (await order(talk, "meeting"))[0].startswith("**Meeting 101: Dinner**")


async def test_who_takes_part_ends_a_meeting_and_its_program_goes_on() -> None:
    async with talking(planning(optional_attendees=["Ada", "Guest"]), Model()) as talk:
        await talk.say("go", private=False)
        seen = await order(talk, "meeting", "end", private=False)
        assert [text for text in seen if text != "Meeting has ended"] == ["Meeting 100 has ended.", "it is over: 1200"]
        assert "Meeting has ended" in seen


@pytest.mark.parametrize(
    ("more", "ended"),
    [({}, False), ({"private": True}, True), ({"by_owner": True}, True)],
    ids=["a stranger to it", "whoever is alone with the agents", "an owner"],
)
async def test_who_is_not_in_a_meeting_ends_it_only_in_private_or_as_an_owner(
    more: dict[str, Any], ended: bool
) -> None:
    async with talking(planning(required_attendees=["Guest"]), Model()) as talk:
        await talk.say("go", private=False)
        seen = await order(talk, "meeting", "100 end", name="Bo", **({"private": False} | more))
        refused = "Only people in meeting 100 and my owners may do that."
        assert (refused in seen) is not ended
        assert ("Meeting 100 has ended." in seen) is ended
        assert bool(talk.facts("meeting_end")) is ended


async def test_two_people_who_end_a_meeting_at_once_end_it_once() -> None:
    async with talking(TWO, Model(), after="go") as talk:
        talk.post("100 end", kind="meeting")
        await talk.say("100 end", kind="meeting", name="Bo")
        assert len(talk.facts("meeting_end")) == 1
        assert talk.chat.count("Meeting 100 has ended.") == 1
        assert "There is no meeting 100. Current meetings: 101 (Dinner)." in talk.chat


async def test_an_agent_class_is_invited_and_comes() -> None:
    async with talking(planning(required_attendees=["Guest"]), Model(), after="go") as talk:
        assert await order(talk, "invite", "Cook") == ["Cook is invited to meeting 100."]
        assert await order(talk, "invite", "cook to meeting 100") == ["Cook is already in meeting 100."]
        assert await order(talk, "invite", "agent 1001") == ["Guest is already in meeting 100."]
        assert "- Cook (agent)" in (await order(talk, "meeting"))[0]
    told = [fact.data["message"]["text"] for fact in talk.world.facts if fact.kind == "in"]
    assert "Ada invited Cook. Waiting…" in told
    assert "Cook (agent 1002) has joined the meeting" in told


async def test_a_person_is_invited_by_name_and_comes() -> None:
    async with talking(planning(required_attendees=["Guest"]), Model(), after="go") as talk:
        await talk.say("", kind="who", name="Bo")
        assert "Bo is invited to meeting 100." in await order(talk, "invite", "@Bo")
        assert "- Bo" in (await order(talk, "meeting"))[0].split("\n")


class PatientClock(TurboClock):
    """What is to happen in half a minute or later does not happen in this test."""

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s - self.monotonic() > 20.0:
            await anyio.sleep_forever()
        await super().sleep_until(monotonic_s)


async def test_who_does_not_answer_is_not_invited_twice() -> None:
    code = "async def Main():\n    await WaitForMessage('user')\n"
    busy = agent("Busy", MAIN, python("Join", meeting=True), code=code + GUEST)
    said = planning(required_attendees=["Guest"])
    world = World(())
    world.clock = PatientClock()
    async with talking(program(*said.agents, busy), Model(), world=world, after="go") as talk:
        for kind, text in [("invite", "Busy"), ("invite", "Busy"), ("meeting", "")]:
            talk.post(text, kind=kind)
        await talk.until(lambda: len(talk.chat) == 3)
        first, second, shown = talk.chat
    assert first == "Busy is invited to meeting 100."
    assert second == "Busy is already invited to meeting 100."
    assert "- Busy is invited: " in shown


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "/invite NAME · /invite agent 1001 · /invite NAME to 100"),
        ("Nobody", "I know nobody called “Nobody”. I know Host, Guest, Cook, Ada."),
        ("agent 2000", "I know nobody called “agent 2000”. I know Host, Guest, Cook, Ada."),
        ("Cook to 107", "There is no meeting 107. Current meetings: 100 (Plan)."),
    ],
)
async def test_an_invitation_that_cannot_be_says_why(text: str, answer: str) -> None:
    async with talking(planning(required_attendees=["Guest"]), Model(), after="go") as talk:
        assert await order(talk, "invite", text) == [answer]


async def test_a_person_leaves_a_meeting_and_the_others_are_told() -> None:
    async with talking(planning(optional_attendees=["Ada", "Guest"]), Model(), after="go") as talk:
        assert (await order(talk, "leave", "107"))[-1] == "There is no meeting 107. Current meetings: 100 (Plan)."
        assert "You have left meeting 100." in await order(talk, "leave")
        assert await order(talk, "leave") == ["You are not in a meeting."]
        assert await order(talk, "leave", name="Bo") == ["You are not in a meeting."]
        assert "- Ada" not in (await order(talk, "meeting"))[0].split("\n")
    told = [fact.data["message"]["text"] for fact in talk.world.facts if fact.kind == "in"]
    assert told.count("Ada has left the meeting") == 2


async def test_who_is_in_one_of_two_meetings_leaves_that_one_and_not_the_other() -> None:
    async with talking(TWO, Model(), after="go") as talk:
        await talk.say("Ada to 101", kind="invite")
        assert await order(talk, "leave", "100") == ["You are not in meeting 100."]
        assert "You have left meeting 101." in await order(talk, "leave", "meeting 101")


async def test_a_person_who_takes_part_shares_values_as_agents_do() -> None:
    async with talking(planning(optional_attendees=["Ada"]), Model(), after="go") as talk:
        answer = await order(talk, "meeting", "set budget 900")
        assert answer == ["budget = `900` in meeting 100 · version 2"]
        assert await order(talk, "meeting", "100 set motto eat well") == [
            'motto = `"eat well"` in meeting 100 · version 1'
        ]
        assert "- budget = `900` · version 2, Ada" in (await order(talk, "meeting"))[0]
        refused = "That value cannot be shared: Bo (user) is not in meeting 100; it has to be invited first."
        assert await order(talk, "meeting", "set budget 1", name="Bo") == [refused]
        assert await order(talk, "meeting", "set budget") == [USAGE]
        assert "it is over: 900" in await order(talk, "meeting", "end")


async def test_agents_are_listed_with_what_they_do_and_for_how_long() -> None:
    said = planning(required_attendees=["Guest"])
    asking = """
async def Main():
    await Ask("Ship it?", ["Yes", "No"])
"""
    waiting = "async def Main():\n    await WaitForMessage('Asker')\n"
    free = "async def Main():\n    await WaitForMessage('user')\n"
    others = {"Asker": asking, "Waiter": waiting, "Free": free, "Done": "async def Main(): pass\n"}
    agents = [agent(name, MAIN, code=code) for name, code in others.items()]
    async with talking(program(*said.agents, *agents), Model(), after="go") as talk:
        shown = await talk.say("", kind="agents")
        assert all(re.search(r" · \d+ (s|min|h|d)$", line) for line in shown[0].split("\n"))
        lines = dict(line.split(": ") for line in timeless(shown)[0].split("\n"))
    names = {name.split()[1]: doing for name, doing in lines.items()}
    assert names == {
        "Host": "waiting for messages in meeting 100",
        "Guest": "waiting for messages in meeting 100",
        "Asker": "waiting for an answer",
        "Waiter": "waiting for Asker",
        "Free": "waiting for people",
        "Done": "idle",
    }


async def test_a_name_with_marks_of_formatting_is_shown_as_it_is_written() -> None:
    async with talking(planning(optional_attendees=["Ada"]), Model(), after="go") as talk:
        await talk.say("", kind="who", name="[Bo](http://evil)")
        [answer] = await order(talk, "invite", "Zoe")
        assert "[Bo](" not in answer
        await talk.say("[Bo](http://evil)", kind="invite")
        assert "[Bo](" not in (await order(talk, "meeting"))[0]


async def test_agents_that_were_stopped_are_shown_so() -> None:
    code = "async def Main():\n    await WaitForMessage('user')\n"
    async with talking(program(agent("Alone", MAIN, code=code)), Model(), after="go") as talk:
        await talk.say("", kind="stop")
        assert await order(talk, "agents") == ["- Alone: stopped"]


@pytest.mark.parametrize(("private", "to"), [(False, ["", "Ada"]), (True, ["", ""])])
async def test_what_is_said_to_one_of_several_people_is_shown_with_their_name(private: bool, to: list[str]) -> None:
    code = """
async def Main():
    for _ in range(2):
        await WaitForMessage("*")
    await Say("user", "to whoever is here")
    await Say("Ada", "to one of you")
"""
    async with talking(program(agent("Host", MAIN, code=code)), Model()) as talk:
        await talk.say("go", private=private)
        await talk.say("hello", private=private)
        await talk.say("hi", name="Bo", private=private)
        speakers = [shown.spec.speaker for shown in talk.world.chat if shown.spec is not None]
    assert [(speaker.name, speaker.to) for speaker in speakers] == [("Host", name) for name in to]


async def test_in_the_place_of_a_meeting_an_order_means_that_one_and_is_answered_there() -> None:
    stage = Stage()
    async with stage.met() as talk:
        shown = await there(talk, "", kind="meeting")
        assert timeless(shown)[0].startswith("**Meeting 100: The boat**\n- Host, host\n- Ada")
        assert "Meeting 100 has ended." in await there(talk, "end", kind="meeting")


async def test_after_a_restart_a_meeting_is_as_it_was_with_what_it_shares_and_since_when() -> None:
    said = planning(optional_attendees=["Ada", "Guest"])
    async with talking(said, Model(), after="go") as talk:
        await talk.say("set budget 900", kind="meeting")
        before = await talk.say("", kind="meeting")
    async with talking(said, Model(), world=talk.world) as talk:
        assert await talk.say("", kind="meeting") == before
        assert "it is over: 900" in await order(talk, "meeting", "end")


async def test_a_program_that_cannot_go_on_shows_its_meeting_and_takes_nobody_into_it() -> None:
    said = planning(required_attendees=["Guest"])
    async with talking(said, Model()) as talk:
        await talk.say("go")
    gone = program(agent("Host", MAIN, code="async def Main(): pass\n"), digest="2")
    async with talking(gone, Model(), world=talk.world) as talk:
        for kind, text in [("invite", "Cook"), ("leave", "")]:
            assert (await order(talk, kind, text))[0].startswith("⚠️ ")
        assert (await order(talk, "meeting"))[0].startswith("**Meeting 100: Plan**")
        assert (await order(talk, "agents"))[0].startswith("- Host: ")
    assert not [fact for fact in talk.world.facts if fact.kind == "asked" and fact.data["who"] != "1001"]
