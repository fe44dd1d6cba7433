"""How meetings begin, go on and end for the agents in them."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.language.program import AgentSpec, PlaybookSpec, Program
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

LISTENS = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            text = message["text"]
            if text.startswith("Meeting has ended") or text == "go home":
                return
            if text.startswith("please say "):
                await Say("meeting", text.removeprefix("please say "))
            if text == "please leave":
                return await LeaveMeeting()
            if text == "please end it":
                return await EndMeeting()
            if text == "please fail":
                raise ValueError("no luck")
            if text.startswith("please invite "):
                await InviteToMeeting(text.removeprefix("please invite ").split(" and "))
"""

TELLS = """
async def Wait():
    pass

async def Join(topic, attendees):
    await Say("user", f"{topic}: {attendees}")
"""

TOLD = python("Join", "topic", "attendees", meeting=True), python("Wait", trigger="BGN When")


def guest(name: str, code: str = LISTENS, *more: PlaybookSpec) -> AgentSpec:
    return agent(name, python("Join", meeting=True), *more, code=code)


def hosted(code: str, *guests: AgentSpec, main: str = 'await Say("user", f"{await Talk()}")', **about: Any) -> Program:
    """A host that executes `main` at the beginning; its meeting is `Talk`, with the body `code`."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    source = f"""
async def Main():
    {main}

async def Talk():
{body}

async def heard(*words):
    while True:
        for message in await WaitForMessage("meeting"):
            if any(message["text"].startswith(word) for word in words):
                return message["text"]
"""
    return program(agent("Host", MAIN, python("Talk", meeting=True, **about), code=source), *guests)


def facts(talk: Talk, kind: str) -> list[Mapping[str, Any]]:
    """The data of the facts of a kind."""
    return [fact.data for fact in talk.world.facts if fact.kind == kind]


def notices(talk: Talk, klass: str) -> list[str]:
    """What an agent was told in meetings, notices only."""
    agents = {data["id"]: data["class"] for data in facts(talk, "agent")}
    told = [data for data in facts(talk, "in") if agents[data["agent"]] == klass]
    return [data["message"]["text"] for data in told if data["message"]["type"] == "meeting_notice"]


def answers(talk: Talk) -> list[tuple[str, str]]:
    """Who answered what to an invitation."""
    return [(data["who"], data["answer"]) for data in facts(talk, "invite")]


def still() -> tuple[World, FakeClock]:
    """A world in which time passes when a test says so."""
    world, clock = World(()), FakeClock()
    world.clock = clock  # type: ignore[assignment]
    return world, clock


async def post(talk: Talk, text: str, **more: Any) -> list[str]:
    """Somebody says something while somebody is waited for; what is seen since then."""
    before = len(talk.chat)
    talk.post(text, **more)
    for _ in range(6):
        await FakeClock.settle()
    return talk.chat[before:]


async def test_a_meeting_is_created_invites_is_active_and_has_ended() -> None:
    talks = hosted('await Say("meeting", "please say hello")\nreturn await heard("hello")', guest("Guest"),
                   required_attendees=["Guest"])  # fmt: skip
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == ["please say hello", "hello", "hello"]
        assert notices(talk, "Guest") == ["Meeting started", "Meeting has ended"]
        assert notices(talk, "Host") == []
    kinds = [
        fact.kind for fact in talk.world.facts if "id" in fact.data and fact.kind not in ("agent", "person", "spoke")
    ]
    assert kinds == ["meeting", "inviting", "asked", "joined", "meeting_active", "cue", "meeting_end"]
    (prompt,) = facts(talk, "cue")
    assert prompt["message"]["text"] == "Meeting has started. Host, please start the meeting."


async def test_a_busy_agent_is_waited_for_and_asked_again_when_it_is_idle() -> None:
    busy = guest(
        "Guest",
        LISTENS + '\nasync def Work():\n    for message in await WaitForMessage("user"):\n        pass\n',
        python("Work", trigger="BGN When program starts"),
    )
    talks = hosted('await Say("meeting", "please say hello")\nreturn await heard("hello")', busy,
                   required_attendees=["Guest"])  # fmt: skip
    world, clock = still()
    async with talking(talks, Model(), world=world) as talk:
        assert await post(talk, "go") == []
        assert answers(talk) == [("1001", "REJECTED - busy")]
        assert await post(talk, "Guest: you are done") == ["please say hello"]
        await clock.advance(10)
        assert talk.chat == ["please say hello", "hello", "hello"]
    assert [data["times"] for data in facts(talk, "asked")] == [1, 1]


async def test_an_agent_that_stays_busy_is_asked_with_growing_pauses_and_then_the_caller_is_told() -> None:
    busy = guest(
        "Guest",
        LISTENS + '\nasync def Work():\n    await WaitForMessage("agent 1001")\n',
        python("Work", trigger="BGN When program starts"),
    )
    world, clock = still()
    async with talking(hosted("return 1", busy, required_attendees=["Guest"]), Model(), world=world) as talk:
        await post(talk, "go")
        asked = []
        for pause_s in (29, 1, 59, 1, 119, 1, 239, 1, 479):
            await clock.advance(pause_s)
            asked.append(len(facts(talk, "asked")))
        assert asked == [1, 2, 2, 3, 3, 4, 4, 5, 5]
        assert talk.chat == []
        await clock.advance(1)
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["Meeting 100 did not take place: Guest: REJECTED - busy"]


@pytest.mark.parametrize(
    "arguments", ['"meeting 100", ["Late"]', '"100", ["Late"]', 'meeting_id=100, attendees=["Late"]']
)
async def test_who_comes_late_hears_what_was_said_before_anything_new(arguments: str) -> None:
    code = f"""
await Say("meeting", "one")
await Say("meeting", "two")
first = await InviteToMeeting({arguments})
again = await InviteToMeeting(["Late", "agent 1001"])
await heard("Late (agent 1002) has joined")
await Say("meeting", "please say three")
await heard("three")
nobody = await InviteToMeeting(["Late"])
return [first, again, nobody]
"""
    talks = hosted(code, guest("Guest"), guest("Late", LISTENS.replace("please say", "p")), required_attendees="Guest")
    async with talking(talks, Model()) as talk:
        assert (await talk.say("go"))[-1] == "[['Late'], [], []]"
    late = [data["message"]["text"] for data in facts(talk, "in") if data["agent"] == "1002"]
    assert late == [
        "You are invited to meeting 100: Talk",
        "What was said before you came:\nHost: one\nHost: two",
        "please say three",
        "three",
        "Meeting has ended",
    ]
    assert notices(talk, "Guest") == [
        "Meeting started",
        "Host invited Late. Waiting…",
        "Late (agent 1002) has joined the meeting",
        "Meeting has ended",
    ]


async def test_any_participant_may_invite_and_hears_the_answer() -> None:
    talks = hosted(
        'await Say("meeting", "please invite Friend and Stranger")\nreturn await heard("Stranger does not join")',
        guest("Guest"),
        guest("Friend"),
        agent("Stranger", python("Wave"), code="async def Wave(): pass"),
        required_attendees=["Guest"],
    )
    async with talking(talks, Model()) as talk:
        await talk.say("go")
    (answer,) = answers(talk)
    assert answer[1].startswith("REJECTED - cannot handle this type of meeting.")
    assert [data["by"] for data in facts(talk, "asked")] == ["1000", "1001", "1001"]
    assert "Guest invited Friend. Waiting…" in notices(talk, "Host")


async def test_the_last_but_one_to_leave_leaves_a_question_and_the_last_one_ends_it() -> None:
    code = """
await Say("meeting", "please leave")
told = []
while "End this meeting?" not in told:
    told += [message["text"] for message in await WaitForMessage("meeting")]
await LeaveMeeting()
return told
"""
    async with talking(hosted(code, guest("Guest"), required_attendees=["Guest"]), Model()) as talk:
        shown = await talk.say("go")
        assert shown[-1] == "['Guest has left the meeting', 'End this meeting?']"
        assert notices(talk, "Guest") == ["Meeting started"]
    assert [data["who"] for data in facts(talk, "left")] == ["1001", "1000"]
    assert len(facts(talk, "meeting_end")) == 1


async def test_a_host_may_leave_its_meeting_to_the_others() -> None:
    code = 'await LeaveMeeting()\nawait WaitForMessage("user")\nreturn "back"'
    talks = hosted(code, guest("Guest"), guest("Friend"), required_attendees=["Guest", "Friend"])
    async with talking(talks, Model(), after="go") as talk:
        assert notices(talk, "Friend") == ["Meeting started", "Host has left the meeting"]
        assert facts(talk, "meeting_end") == []
        assert await talk.say("Host: and now?") == ["back"]
        assert facts(talk, "meeting_end") == []


async def test_a_guest_ends_the_meeting_and_the_host_wakes_up() -> None:
    talks = hosted('await Say("meeting", "please end it")\nreturn await heard("Meeting has ended")', guest("Guest"),
                   required_attendees=["Guest"])  # fmt: skip
    assert await answered(talks, Model(), "go") == ["please end it", "Meeting has ended"]


@pytest.mark.parametrize(
    ("waits", "woken"),
    [
        ('await Ask("Which way?")', "None"),
        ('await Ask("Which way?", ["left", "right"], of=["Ada"])', "{}"),
        ('[m["text"] for m in await WaitForMessage("user")]', "['Meeting has ended']"),
        ('[m["text"] for m in await WaitForMessage("agent 1002")]', "['Meeting has ended']"),
        ("await Deeper()", "None"),
    ],
)
async def test_the_end_of_a_meeting_wakes_who_waits_in_it_for_something_else(waits: str, woken: str) -> None:
    code = f"""
async def Join():
    await Say("meeting", "here I am")
    woken = {waits}
    await Say("user", f"woken by {{woken}}")

async def Deeper():
    return await Ask("Which way?")
"""
    host = 'await heard("here I am")\nawait Sleep(5)\nreturn "over"'
    guests = guest("Guest", code, python("Deeper")), guest("Friend")
    talks = hosted(host, *guests, required_attendees=["Guest", "Friend"])
    assert f"woken by {woken}" in await answered(talks, Model(), "go")


async def test_a_model_that_waits_for_a_person_is_asked_again_when_the_meeting_ends() -> None:
    model = Model(block('await Yld("user")'), block('await Say("user", "so be it")', "await Return(None)"))
    joins = agent("Guest", replace(llm("Join"), metadata={"meeting": True}))
    async with talking(hosted('await Sleep(5)\nreturn "over"', joins, required_attendees=["Guest"]), model) as talk:
        assert "so be it" in await talk.say("go")
    assert "Meeting has ended" in model.told(1)


async def test_who_asks_when_the_meeting_ends_hears_of_that_with_the_next_wait() -> None:
    code = """
async def Join():
    await Say("meeting", "here I am")
    answer = await Ask("Which way?")
    told = [message["text"] for message in await WaitForMessage("meeting")]
    await Say("user", f"{answer} {told}")
"""
    host = 'await heard("here I am")\nawait Sleep(5)\nreturn "over"'
    async with talking(hosted(host, guest("Guest", code), required_attendees=["Guest"]), Model()) as talk:
        assert "None ['Meeting started', 'Meeting has ended']" in await talk.say("go")


async def test_a_person_is_waited_for_in_a_meeting_that_has_ended_before() -> None:
    code = """
async def Join():
    await Say("meeting", "here I am")
    await EndMeeting()
    await Say("user", f"{await Ask('Which way?')}, I see")
"""
    host = 'return await heard("Meeting has ended")'
    async with talking(hosted(host, guest("Guest", code), required_attendees=["Guest"]), Model()) as talk:
        assert "Which way?" in await talk.say("go")
        assert await talk.say("left") == ["left, I see"]


async def test_a_host_that_fails_ends_the_meeting_for_all_with_the_reason() -> None:
    main = 'try:\n        await Talk()\n    except ValueError as error:\n        await Say("user", f"failed: {error}")'
    talks = hosted('raise ValueError("out of ideas")', guest("Guest"), main=main, required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == ["failed: out of ideas"]
    assert notices(talk, "Guest") == ["Meeting started", "Meeting has ended (Host failed: out of ideas)"]


async def test_a_guest_that_fails_has_left() -> None:
    talks = hosted('await Say("meeting", "please fail")\nreturn await heard("Guest has left")', guest("Guest"),
                   required_attendees=["Guest"])  # fmt: skip
    assert "Guest has left the meeting (it failed)" in await answered(talks, Model(), "go")


async def test_a_host_whose_call_is_given_up_ends_the_meeting() -> None:
    main = """import asyncio
    talk = asyncio.create_task(Talk())
    await WaitForMessage("user")
    talk.cancel()
    await Say("user", "given up")"""
    talks = hosted('return await heard("never")', guest("Guest"), main=main, required_attendees=["Guest"])
    async with talking(talks, Model(), after="go") as talk:
        assert await talk.say("enough") == ["given up"]
        assert notices(talk, "Guest") == ["Meeting started", "Meeting has ended (Host was stopped)"]


async def test_an_agent_holds_meetings_one_after_the_other_and_not_two_at_a_time() -> None:
    main = """import asyncio
    both = await asyncio.gather(Talk(), Talk())
    await Say("user", f"{sorted(both)} {await Talk()}")"""
    talks = hosted('await Say("meeting", "please say hello")\nreturn await heard("hello")', guest("Guest"), main=main,
                   required_attendees=["Guest"])  # fmt: skip
    async with talking(talks, Model()) as talk:
        shown = await talk.say("go")
    refused = "The meeting did not take place: Host: REJECTED - busy with meeting 100"
    assert shown[-1] == f"['{refused}', 'hello'] hello"
    assert [data["id"] for data in facts(talk, "meeting")] == ["100", "101"]


async def test_the_caller_names_attendees_and_the_topic() -> None:
    main = 'await Say("user", await Talk(topic="the tax", attendees=["Friend", "agent 1001"]))'
    talks = hosted(
        'await Say("meeting", "please say hello")\nreturn await heard("hello")',
        agent("Accountant", *TOLD, code=TELLS),
        guest("Friend"),
        guest("Never"),
        main=main,
        required_attendees=["Never"],
    )  # fmt: skip
    async with talking(talks, Model()) as talk:
        shown = await talk.say("go")
    assert "the tax: ['Host', 'Friend', 'Accountant']" in shown
    assert {data["class"] for data in facts(talk, "agent")} == {"Host", "Accountant", "Friend"}


async def test_optional_attendees_never_hold_a_meeting_up() -> None:
    busy = guest(
        "Busy",
        LISTENS + '\nasync def Work():\n    await WaitForMessage("agent 1001")\n',
        python("Work", trigger="BGN When program starts"),
    )
    talks = hosted('await Say("meeting", "anybody?")\nreturn "done"', busy, optional_attendees=["Busy"])
    assert await answered(talks, Model(), "go") == ["anybody?", "done"]


async def test_what_is_called_in_a_meeting_knows_of_it_and_another_agent_does_not() -> None:
    source = """
async def Main():
    await Say("user", await Talk())

async def Talk():
    await Greet()
    return await Region.Lookup("Oslo")

async def Greet():
    await Say("meeting", "hello from a helper")
"""
    region = """
async def Lookup(city):
    try:
        await Say("meeting", city)
    except Exception as error:
        return f"{type(error).__name__} {city}"
"""
    talks = program(
        agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), python("Greet"), code=source),
        agent("Region", python("Lookup", "city", public=True), code=region),
        guest("Guest"),
    )
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == ["hello from a helper", "UnknownTarget Oslo"]
    frames = {data["pb"]: data.get("meeting") for data in facts(talk, "start")}
    assert (frames["Greet"], frames["Lookup"]) == ("100", None)


async def test_an_invitation_wakes_nobody_who_waits_for_anything() -> None:
    busy = guest(
        "Guest",
        LISTENS
        + '\nasync def Work():\n    for m in await WaitForMessage("*"):\n        await Say("user", m["text"])\n',
        python("Work", trigger="BGN When program starts"),
    )
    talks = hosted('return "met"', busy, required_attendees=["Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        assert await post(talk, "go") == []
        assert await post(talk, "Guest: now") == ["Guest: now", "met"]


async def test_a_session_that_comes_back_goes_on_with_its_meeting() -> None:
    talks = hosted('await heard("never")', guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        await talk.say("go")
    async with talking(talks, Model(), world=talk.world) as talk:
        assert await talk.say("", kind="new") == []
        assert await talk.say("go") == []
    assert len(facts(talk, "meeting_active")) == 2


async def test_two_hosts_have_the_same_guest_one_after_the_other() -> None:
    source = """
async def Main():
    await Say("user", f"{variables['startup_message']}: {await Talk()}")

async def Talk():
    await Say("meeting", "please say hello")
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "hello":
                return "met"
"""
    hosts = [
        agent(name, MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=source)
        for name in ("First", "Second")
    ]
    world, clock = still()
    async with talking(program(*hosts, guest("Guest")), Model(), world=world) as talk:
        await post(talk, "go")
        for _ in range(4):
            await clock.advance(6)
        assert talk.chat.count("go: met") == 2
    assert answers(talk) == [("1002", "REJECTED - busy")]
    assert [data["id"] for data in facts(talk, "joined")] == ["100", "101"]
