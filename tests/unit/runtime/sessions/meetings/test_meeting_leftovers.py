"""What was said in a meeting and nobody has read when its playbook is done or has failed."""

from msgspec.structs import replace

from runtime.language.program import Program, Trigger, TriggerKind
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, guest, hosted, post, still
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, llm, program, python

TALKS = """
async def Join():
    await Say("meeting", "one")
    await Say("meeting", "two")
    await WaitForMessage("meeting")
"""
FAILED = "⚠️ Talk failed: no luck. Your next message begins anew."


async def test_a_host_that_failed_begins_anew_only_when_somebody_writes() -> None:
    world, clock = still()
    talks = hosted('await Sleep(20)\nraise ValueError("no luck")', guest("Guest", TALKS), required_attendees=["Guest"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go")
        await clock.advance(21)
        await clock.advance(60)
        assert talk.chat == ["one", "two", FAILED]
        await post(talk, "once more")
        await clock.advance(21)
        assert talk.chat[3:] == ["one", "two", FAILED]


async def test_what_an_agent_says_to_one_that_failed_does_not_make_it_begin_anew() -> None:
    code = """
async def Main():
    await Say("Other", "hello")
    await Sleep(5)
    raise ValueError("no luck")
"""
    echo = """
async def Main():
    while True:
        await WaitForMessage("*")
        await Sleep(10)
        await Say("First", "well?")
"""
    world, clock = still()
    both: Program = program(agent("First", MAIN, code=code), agent("Other", MAIN, code=echo))
    async with talking(both, Model(), world=world) as talk:
        await post(talk, "go")
        for _ in range(6):
            await clock.advance(10)
        assert talk.chat == [FAILED.replace("Talk", "Main")]


async def test_the_model_is_not_asked_about_a_meeting_that_is_over_for_its_agent() -> None:
    leaves = agent("Guest", python("Join", meeting=True), llm("Chat", "01:QUE Chat"), code="""
async def Join():
    await Sleep(20)
""")  # fmt: skip
    talks = hosted('await Say("meeting", "hey")\nawait Sleep(10)\nreturn 1', leaves, required_attendees=["Guest"])
    world, clock = still()
    model = Model(block('await Yld("user")'))
    async with talking(talks, model, world=world) as talk:
        await post(talk, "go")
        await clock.advance(10)
        await clock.advance(30)
        assert talk.chat == ["hey", "1"]
    assert model.asked == []
    assert [len(data["mids"]) for data in facts(talk, "dropped")] == [3]


async def test_an_invitation_is_no_trigger_for_the_model_to_judge() -> None:
    invited = Trigger("T1", TriggerKind("EVT"), "When invited to a talk meeting", SPAN)
    join = python("Join", meeting=True)
    model = Model(block('await Step("Chat:01:QUE")', 'await Say("user", "hi")', 'await Yld("user")'))
    chat = llm("Chat", "01:QUE Greet the user; YLD for user", begins=True)
    joins = replace(join, triggers=(invited,))
    assert await answered(program(agent("Guest", chat, joins, code="async def Join(): ...")), model, "go") == ["hi"]
    told = model.asked[0][0].content
    assert "When invited to a talk meeting (automatic)" in told
    assert "Trigger(" not in told


async def test_who_speaks_to_a_meeting_that_has_ended_is_told_so() -> None:
    code = """
await EndMeeting()
try:
    await Say("meeting", "never heard")
except Exception as error:
    return str(error)
"""
    async with talking(hosted(code, guest("Guest"), required_attendees=["Guest"]), Model()) as talk:
        assert await talk.say("go") == ["meeting 100 has ended; going on are none"]


async def test_a_sleep_lasts_longer_than_its_meeting_and_a_wait_with_a_time_does_not() -> None:
    sleeps = """
async def Join():
    await Sleep(100)
    for message in await WaitForMessage("meeting"):
        await Say("user", f"sleeper: {message['text']}")
"""
    waits = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting", 100) or ():
            if message["text"].startswith("Meeting has ended"):
                return await Say("user", f"waiter: {message['text']}")
"""
    world, clock = still()
    guests = (guest("Sleeper", sleeps), guest("Waiter", waits))
    talks = hosted("await Sleep(10)\nreturn 1", *guests, required_attendees=["Sleeper", "Waiter"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go")
        await clock.advance(10)
        await talk.until(lambda: sorted(talk.chat) == ["1", "waiter: Meeting has ended"])
        await clock.advance(90)
        await talk.until(lambda: talk.chat[2:] == ["sleeper: Meeting started", "sleeper: Meeting has ended"])
