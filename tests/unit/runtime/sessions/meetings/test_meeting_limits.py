"""Meetings where it is easy to go wrong: interruptions, changed programs, long waits, several meetings, many agents."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
from msgspec.structs import replace

from runtime.language.program import AgentKind, AgentSpec
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, answered, block, talking
from tests.fakes.sleepers import SHARD, Sleepers
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, guest, hosted, notices, post, still
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, llm, program, python, triggers


async def test_of_several_meeting_playbooks_the_trigger_decides_and_what_fits_none_is_refused() -> None:
    code = """
async def Tax():
    await Say("meeting", "tax it is")
async def Travel():
    await Say("meeting", "travel it is")
"""
    both = agent(
        "Guest",
        replace(python("Tax", meeting=True), triggers=triggers("EVT When invited to tax planning meeting")),
        replace(python("Travel", meeting=True), triggers=triggers("EVT When invited to travel planning meeting")),
        code=code,
    )
    main = "await Say(\"user\", f\"{await Talk(topic='travel planning')}, {await Talk(topic='cake')}\")"
    talks = hosted('return await heard("t")', both, main=main, required_attendees=["Guest"])
    shown = await answered(talks, Model(), "go")
    assert shown[-1] == (
        "travel it is, Meeting 101 did not take place: Guest: REJECTED - cannot handle this type of meeting. "
        "Here are the meeting types I can handle: [Tax, Travel]"
    )


async def test_what_is_said_is_remembered_until_the_meeting_ends() -> None:
    talks = hosted('await Say("meeting", "please say hello")\nreturn await heard("hello")', guest("Guest"),
                   required_attendees=["Guest"])  # fmt: skip
    async with talking(talks, Model()) as talk:
        await talk.say("go")
    said = [(data["message"]["class"], data["message"]["text"]) for data in facts(talk, "spoke")]
    assert said == [("Host", "please say hello"), ("Guest", "hello")]


async def test_stop_ends_a_meeting_with_the_reason() -> None:
    talks = hosted('return await heard("never")', guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model(), after="go") as talk:
        assert await talk.say("", kind="stop") == ["⏹ Stopped. The next message starts the program over."]
        (ended,) = facts(talk, "meeting_end")
        assert ended["why"] == "Host was stopped"


async def test_a_model_that_is_interrupted_in_its_meeting_ends_it_and_the_guest_hears_why() -> None:
    held = dataclasses.replace(block('await Yld("meeting")'), gate=anyio.Event())
    talk_spec = replace(llm("Talk"), metadata={"meeting": True, "required_attendees": ["Guest"]})
    host = agent("Host", llm("Main", begins=True), talk_spec)
    model = Model(
        block('await Say("user", "let us meet")', "await Talk()", 'await Yld("call")'),
        held,
        block('await Say("user", "at your service")', 'await Yld("user")'),
    )
    async with talking(program(host, guest("Guest")), model, busy={"test": "interrupt"}) as talk:
        talk.post("go")
        await model.writing.wait()
        await talk.say("stop that")
        assert notices(talk, "Guest") == ["Meeting started", "Meeting has ended (Host was interrupted)"]


async def test_a_meeting_goes_on_with_a_program_that_was_changed_elsewhere() -> None:
    code = 'return await heard("please say")'
    first = hosted(code, guest("Guest"), required_attendees=["user", "Guest"])
    second = replace(hosted(code, guest("Guest"), agent("New", python("Wave"), code="async def Wave(): pass"),
                            required_attendees=["user", "Guest"]), digest="2")  # fmt: skip
    async with talking(first, Model()) as talk:
        await talk.say("go")
    async with talking(second, Model(), world=talk.world) as talk:
        shown = await talk.say("please say hello")
    assert "please say hello" in shown
    assert len(facts(talk, "meeting_end")) == 1


async def test_a_new_conversation_begins_without_the_meeting_of_the_old_one() -> None:
    talks = hosted('return await heard("never")', guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        await talk.say("go")
    async with talking(talks, Model(), world=talk.world) as talk:
        await talk.say("", kind="new")
        await talk.say("go")
    assert [data["id"] for data in facts(talk, "meeting")] == ["100", "100"]


async def test_a_session_leaves_memory_while_it_waits_for_somebody_and_comes_back_to_ask_again(
    sandbox: MontySandbox,
) -> None:
    people = [AgentSpec(name, AgentKind.HUMAN, SPAN) for name in ("Alice", "Carol")]
    talks = hosted("return 1", *people, required_attendees=["Alice"])
    sleepers = Sleepers(talks, sandbox)
    await sleepers.post("1", "go")
    await sleepers.live(lambda: sleepers.asleep)
    assert len(sleepers.chat) == 1
    assert await sleepers.timers.first(SHARD) == sleepers.clock.now().timestamp() + 30
    await sleepers.live(lambda: len(sleepers.chat) == 10, pass_s=15.0)
    assert sleepers.chat.count("Waiting for Alice to join.") == 4
    assert sleepers.chat[-1] == "Meeting 100 did not take place: Alice: did not answer"


async def test_nothing_of_a_message_is_swallowed_in_a_meeting() -> None:
    talks = hosted('await Say("meeting", "please say <eom>")\nreturn await heard("<eom>")', guest("Guest"),
                   required_attendees=["Guest"])  # fmt: skip
    assert await answered(talks, Model(), "go") == ["please say <eom>", "<eom>", "<eom>"]


async def test_an_unknown_target_or_meeting_is_an_error_that_its_author_sees() -> None:
    code = """
told = []
for call in (Say("Nobody", "x"), Say("meeting 105", "x"), InviteToMeeting("meeting 105", ["Guest"]),
             EndMeeting("meeting 105"), InviteToMeeting(["Nobody"])):
    try:
        await call
    except Exception as error:
        told.append(type(error).__name__)
return told
"""
    async with talking(hosted(code, guest("Guest"), required_attendees=["Guest"]), Model()) as talk:
        assert await talk.say("go") == [str(["UnknownTarget"] * 5)]


async def test_who_is_not_in_a_meeting_can_neither_speak_in_it_nor_invite_nor_end_it() -> None:
    outsider = agent("Outsider", python("Meddle", public=True), code="""
async def Meddle():
    told = []
    for call in (EndMeeting("meeting 100"), InviteToMeeting("meeting 100", ["Outsider"]), LeaveMeeting("meeting 100"),
                 Say("meeting 100", "psst"), SendMessage("meeting 100", "psst")):
        try:
            await call
        except Exception as error:
            told.append(str(error))
    return told
""")  # fmt: skip
    talks = hosted("return await Outsider.Meddle()", outsider, guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == [
            str(["Outsider (agent 1002) is not in meeting 100; it has to be invited first"] * 5)
        ]


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """How many functions are called meanwhile."""
    counts: Counter[str] = Counter()

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        counts[event] += 1

    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(None)


async def test_the_work_to_make_agents_grows_with_their_number_and_no_faster(sandbox: MontySandbox) -> None:
    async def work(number: int) -> int:
        code = f"""
async def Main():
    for _ in range({number}):
        await CreateAgent("Guest")
    await Say("user", "made")
"""
        made = program(agent("Host", MAIN, code=code), guest("Guest"))
        async with talking(made, Model(), sandbox) as talk:
            with counted_calls() as counts:
                assert await talk.say("go") == ["made"]
            assert len(facts(talk, "agent")) == number + 1
        return counts["call"]

    await work(10)
    few, many = await work(50), await work(200)
    assert many < 4.6 * few


async def test_agents_of_one_class_are_told_apart_in_notices() -> None:
    code = """
await InviteToMeeting([await CreateAgent("Guest")])
await WaitForMessage("meeting")
await Say("meeting", "please leave")
await Sleep(10)
await InviteToMeeting(["Late"])
"""
    world, clock = still()
    talks = hosted(code, guest("Guest"), guest("Late"), required_attendees=["Guest"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go")
        for _ in range(3):
            await clock.advance(10)
    assert [text.removesuffix(" the meeting") for text in notices(talk, "Host")[:3]] == [
        "Guest (agent 1002) has joined",
        "Guest (agent 1001) has left",
        "Guest (agent 1002) has left",
    ]
    assert "Host invited Guest (agent 1002). Waiting…" in notices(talk, "Guest")
