"""What agents hear of a meeting itself, and which of it wakes them."""

from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.extensions import ChannelExtension, ExtendedChannels
from runtime.language.program import AgentKind, AgentSpec
from tests.fakes.clock import FakeClock
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import LISTENS, facts, guest, hosted, notices, post, still
from tests.unit.runtime.sessions.meetings.test_meeting_people import ALICE, CAROL
from tests.unit.runtime.sessions.meetings.test_meetings import Script, meets
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, program, python

CUE = "Meeting has started. Host, please start the meeting."
WAITS = block('await Yld("meeting")')
DONE = 'await Var("__", "done")', "await Return(None)"
RETURNS = block(*DONE)


def model_guest(name: str = "Guest") -> AgentSpec:
    """An agent that takes part by a playbook in natural language without steps."""
    return agent(name, replace(llm("Join"), metadata={"meeting": True}))


WAITS_FIRST = """
told = [message["text"] for message in await WaitForMessage("meeting")]
await Say("meeting", "please say hello")
return told + [await heard("hello")]
"""
CALLS_WHO_WAITS = """
async def deeper():
    return [message["text"] for message in await WaitForMessage("*", 1)]
told = await deeper()
return told + [await WaitForMessage("meeting", 1)]
"""
HAS_SPOKEN = """
await Say("meeting", "please say hello")
return [message["text"] for message in await WaitForMessage("meeting")]
"""


@pytest.mark.parametrize(
    ("code", "told"), [(WAITS_FIRST, [CUE, "hello"]), (CALLS_WHO_WAITS, [CUE, None]), (HAS_SPOKEN, ["hello"])]
)
async def test_a_host_in_python_is_asked_once_to_start_its_meeting_unless_it_has_spoken(
    code: str, told: list[str | None]
) -> None:
    shown = await answered(hosted(code, guest("Guest"), required_attendees=["Guest"]), Model(), "go")
    assert shown[-1] == str(told)


async def test_a_model_reads_who_comes_and_goes_with_the_next_message_in_order() -> None:
    code = """
await InviteToMeeting(["Friend"])
await heard("Friend (agent 1002) has joined")
await Say("Friend", "please leave")
await heard("Friend has left")
await Say("meeting", "What do you think?")
return await heard("a boat")
"""
    model = Model(WAITS, block('await Say("meeting", "a boat")', 'await Yld("meeting")'), RETURNS)
    talks = hosted(code, model_guest(), guest("Friend"), required_attendees=["Guest"])
    assert (await answered(talks, model, "go"))[-1] == "a boat"
    assert (len(model.asked), model.left) == (3, 0)
    told = [line for line in model.told(1).splitlines() if line.startswith(("Notice", "Message"))]
    assert told == [
        "Notice in meeting 100: Meeting started",
        "Notice in meeting 100: Host invited Friend. Waiting…",
        "Notice in meeting 100: Friend (agent 1002) has joined the meeting",
        "Notice in meeting 100: Friend has left the meeting",
        "Message from Host (agent 1000) in meeting 100: What do you think?",
    ]
    assert "Meeting has ended" in model.told(2)


async def test_a_model_that_waits_for_a_person_in_a_meeting_reads_with_their_words_who_came() -> None:
    model = Model(block('await Yld("user")'), RETURNS)
    talks = hosted('await heard("Guest has left")\nreturn "over"', model_guest(), required_attendees=["Guest"])
    assert (await answered(talks, model, "Guest: hello", after="go"))[-1] == "over"
    assert model.told(1).index("Meeting started") < model.told(1).index("hello")


async def test_a_session_rests_while_a_notice_waits_that_wakes_nobody_and_a_restart_keeps_it() -> None:
    code = 'message = await WaitForMessage("user")\nawait Say("meeting", "Well?")\nawait Sleep(60)\nreturn "over"'
    model = Model(WAITS, WAITS, RETURNS)
    talks = hosted(code, model_guest(), required_attendees=["Guest"])
    async with talking(talks, model, after="go") as talk:
        world = talk.world
    assert len(model.asked) == 1
    async with talking(talks, model, world=world) as talk:
        assert (await talk.say("Host: on"))[-1] == "over"
    assert model.told(1).index("Meeting started") < model.told(1).index("Well?")


async def test_who_invited_somebody_is_woken_by_the_answer_and_nobody_else() -> None:
    script = Script(
        ("Main", "", ("await Talk()", 'await Yld("exit")')),
        ("Talk", "has joined", ("await EndMeeting()", *DONE)),
        ("Talk", "please start", ('await InviteToMeeting(["Late"])', 'await Yld("meeting")')),
        ("Join", "Meeting has ended", DONE),
        ("Join", "", ('await Yld("meeting")',)),
        ("Arrive", "Meeting has ended", DONE),
        ("Arrive", "", ('await Yld("meeting")',)),
    )
    host = agent("Host", llm("Main", begins=True), meets("Talk", "Guest"))
    talks = program(host, model_guest(), agent("Late", meets("Arrive")))
    await answered(talks, script, "go")
    assert len(script.heard("Talk")) == 2
    assert "Late (agent 1002) has joined the meeting" in script.heard("Talk")[1]
    assert len(script.heard("Join")) == 2


@pytest.mark.parametrize("waits", ["meeting notice", "meeting 100 notice"])
async def test_a_step_may_wait_for_notices(waits: str) -> None:
    model = Model(block(f'await Yld("{waits}")'), RETURNS)
    talks = hosted('await heard("Guest has left")\nreturn "over"', model_guest(), required_attendees=["Guest"])
    assert (await answered(talks, model, "go"))[-1] == "over"
    assert "Meeting started" in model.told(1)


async def test_a_model_that_is_left_alone_is_asked_whether_to_end_it() -> None:
    model = Model(WAITS, RETURNS)
    talks = hosted('await LeaveMeeting()\nawait Sleep(60)\nreturn "over"', model_guest(), required_attendees=["Guest"])
    assert (await answered(talks, model, "go"))[-1] == "over"
    assert model.told(1).index("Host has left the meeting") < model.told(1).index("End this meeting?")


async def test_agents_and_people_hear_after_30_seconds_and_at_each_further_question_who_is_silent() -> None:
    waiting = "Waiting for Alice and Carol to join"
    world, clock = still()
    talks = hosted('return [m["text"] for m in await WaitForMessage("meeting")]', ALICE, CAROL, guest("Guest"),
                   required_attendees=["Alice", "Carol", "Guest"])  # fmt: skip
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go", private=False)
        counts = []
        for pause_s in (29, 1, 59, 1):
            await clock.advance(pause_s)
            counts.append((notices(talk, "Guest").count(waiting), talk.chat.count(f"{waiting}.")))
        assert counts == [(0, 0), (1, 1), (1, 1), (2, 2)]
        assert notices(talk, "Host") == []
        await post(talk, "join", name="Alice", private=False)
        await clock.advance(120)
        assert talk.chat.count("Waiting for Carol to join.") == 1


async def test_a_host_in_natural_language_reads_with_the_first_message_who_was_silent() -> None:
    script = Script(
        ("Main", "", ("await Talk()", 'await Yld("exit")')),
        ("Talk", "please start", ('await Yld("meeting")',)),
        ("Talk", "", DONE),
    )
    host = agent("Host", llm("Main", begins=True), meets("Talk", "Alice", "Carol"))
    world, clock = still()
    async with talking(program(host, ALICE, CAROL), script, world=world) as talk:
        talk.post("go", private=False)
        await talk.until(lambda: len(facts(talk, "asked")) == 2)
        await clock.advance(31)
        for name in ("Alice", "Carol"):
            talk.post("join", name=name, private=False)
        await talk.until(lambda: len(script.heard("Talk")) == 1)
        talk.post("here I am", name="Alice", private=False)
        await talk.until(lambda: len(script.heard("Talk")) == 2)
    (_, told) = script.heard("Talk")
    assert told.index("Waiting for Alice and Carol to join") < told.index("here I am")


async def test_who_has_said_that_they_are_busy_is_not_silent() -> None:
    busy = guest(
        "Guest",
        LISTENS + '\nasync def Work():\n    await WaitForMessage("agent 1001")\n',
        python("Work", trigger="BGN When"),
    )
    world, clock = still()
    async with talking(hosted("return 1", busy, required_attendees=["Guest"]), Model(), world=world) as talk:
        await post(talk, "go")
        await clock.advance(31)
        assert (talk.chat, notices(talk, "Host")) == ([], [])


@pytest.mark.parametrize("way", ["code", "words"])
async def test_all_in_a_meeting_hear_at_its_beginning_who_refused_while_it_gathered(way: str) -> None:
    about: dict[str, Any] = {"required_attendees": ["Alice", "Guest"], "optional_attendees": ["Other", "Bob"]}
    other = agent("Other", python("Wait", trigger="BGN When"), code="async def Wait():\n    pass\n")
    people = [ALICE, CAROL, AgentSpec("Bob", AgentKind.HUMAN, SPAN)]
    code = "return [m['text'] for _ in range(2) for m in await WaitForMessage('meeting')]"
    talks = hosted(code, *people, guest("Guest"), other, **about)
    refused = [
        "Other does not join the meeting: REJECTED - cannot handle this type of meeting. "
        "Here are the meeting types I can handle: []",
        "Bob does not join the meeting: REJECTED - declined",
    ]
    model = Model()
    if way == "words":
        host, *rest = talks.agents
        by_model = replace(llm("Talk"), metadata={"meeting": True, **about})
        talks = replace(talks, agents=(replace(host, playbooks=(host.playbooks[0], by_model)), *rest))
        model = Model(RETURNS)
    async with talking(talks, model, world=still()[0]) as talk:
        await post(talk, "go", private=False)
        await post(talk, "decline", name="Bob", private=False)
        shown = await post(talk, "join", name="Alice", private=False)
        assert notices(talk, "Guest")[:3] == ["Meeting started", *refused]
        assert shown[:3] == ["Meeting started", *refused]
    if way == "code":
        assert shown[-1] == str([CUE, *refused])
    else:
        assert [data["message"]["text"] for data in facts(talk, "hears")] == [*refused, CUE]


async def test_a_meeting_has_its_channel_before_anybody_is_invited_and_after_its_end() -> None:
    made: list[Channel] = []
    extended = ExtendedChannels([ChannelExtension("watch", on_channel=[made.append])], Bus(FakeClock()))
    talks = hosted("return 1", guest("Guest"), required_attendees=["Guest"])
    async with anyio.create_task_group() as tasks, talking(talks, Model(), extended=extended) as talk:
        tasks.start_soon(extended.run)
        await talk.say("go")
        tasks.cancel_scope.cancel()
    first, second = (channel.id for channel in made[:2])
    assert (first, second) == ("meeting_100", "channel_1000_1001")
    assert made[0].is_meeting
    (invitation,) = [data["message"] for data in facts(talk, "in") if data["message"]["type"] == "meeting_invitation"]
    assert invitation["to_class"] == "Guest"
