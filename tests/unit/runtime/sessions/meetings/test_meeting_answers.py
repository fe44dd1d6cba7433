"""Invitations that are considered or declined, and questions in a meeting that people leave."""

from typing import Any

import pytest

from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.stores.inbox import FORK_WANTED
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import LISTENS, facts, guest, hosted, notices, post, still
from tests.unit.runtime.sessions.meetings.test_meeting_people import ALICE, ASKED, CAROL
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, python

BOTH = {"required_attendees": ["Ada", "Bo"]}
BEGINS = 'await WaitForMessage("user")\n    await Say("user", f"{await Talk()}")'
"""When both are known."""


async def test_one_of_several_who_leaves_has_not_answered_and_is_not_waited_for() -> None:
    talks = hosted('return await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])', main=BEGINS, **BOTH)
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        assert await post(talk, "", name="Bo", private=False, kind="leave") == [
            "Bo has left the meeting",
            "You have left meeting 100.",
            "Bo has left and will not answer (1 of 2).",
        ]
        assert await post(talk, "Yes", private=False) == [
            "Ada has answered (2 of 2).",
            "Meeting has ended",
            "{'Bo': None, 'Ada': 'Yes'}",
        ]


async def test_the_one_person_who_is_asked_and_leaves_answers_none() -> None:
    talks = hosted('return [await Ask("Shall we?", of="Bo")]', main=BEGINS, **BOTH)
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        assert (await post(talk, "", private=False, kind="leave"))[-1] == "You have left meeting 100."
        assert (await post(talk, "", name="Bo", private=False, kind="leave"))[-1] == "[None]"
    assert notices(talk, "Host")[-3:-1] == ["Ada has left the meeting", "Bo has left the meeting"]


async def test_the_words_by_which_somebody_joins_are_no_vote_and_are_heard_by_the_next_wait() -> None:
    code = """
votes = await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])
return [votes, [message["text"] for message in await WaitForMessage("user")]]
"""
    people = [AgentSpec(name, AgentKind.HUMAN, SPAN) for name in ("Ada", "Bo")]
    talks = hosted(code, *people, required_attendees=["Ada", "Bo"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        assert (await post(talk, "I am here", name="Bo", private=False))[-1] == "@Ada @Bo Shall we?"
        await post(talk, "Yes", name="Bo", private=False)
        shown = await post(talk, "No", private=False)
    assert shown[-1] == "[{'Bo': 'Yes', 'Ada': 'No'}, ['I am here']]"


@pytest.mark.parametrize(
    ("of", "shown", "value"), [('"Bo"', [], "None"), ('["Bo"]', [], "{'Bo': None}")], ids=["alone", "of several"]
)
async def test_who_has_left_is_not_asked(of: str, shown: list[str], value: str) -> None:
    code = f'await heard("Bo has left")\nreturn await Ask("Shall we?", ["Yes", "No"], of={of})'
    async with talking(hosted(code, main=BEGINS, **BOTH), Model(), world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        assert (await post(talk, "", name="Bo", private=False, kind="leave"))[2:] == [
            *shown,
            "Meeting has ended",
            value,
        ]


async def test_who_has_left_is_counted_when_others_are_asked() -> None:
    code = 'await heard("Bo has left")\nreturn await Ask("Shall we?", ["Yes", "No"], of=["Bo", "Ada"])'
    async with talking(hosted(code, main=BEGINS, **BOTH), Model(), world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        left = await post(talk, "", name="Bo", private=False, kind="leave")
        assert left[2:] == ["@Bo @Ada Shall we?", "Bo has left and will not answer (1 of 2)."]
        assert (await post(talk, "No", private=False))[-1] == "{'Bo': None, 'Ada': 'No'}"


async def test_it_is_so_after_a_restart_in_between() -> None:
    world = still()[0]
    talks = hosted('return await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])', main=BEGINS, **BOTH)
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        await post(talk, "", name="Bo", private=False, kind="leave")
    async with talking(talks, Model(), world=world) as talk:
        assert (await post(talk, "Yes", private=False))[-1] == "{'Bo': None, 'Ada': 'Yes'}"


def choosy(code: str, *params: str, name: str = "Choosy") -> AgentSpec:
    """An agent that executes `code` before it joins."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    joins = python("Join", meeting=True, before_joining="Consider")
    considers = f"async def Consider({', '.join(params)}):\n{body}\n"
    return agent(name, joins, python("Consider", *params), code=LISTENS + considers)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ('return "I know nothing about " + topic', "I know nothing about Talk"),
        ('return "REJECTED - tired of " + topic', "tired of Talk"),
        ("return False", "declined"),
        ('raise ValueError("no " + topic)', "no Talk"),
        ('return ", ".join(attendees) + " with " + host', "Host, Choosy with Host"),
        ('return "x" * 500', "x" * 200),
    ],
    ids=["a reason", "as an answer", "no", "a failure", "what it is told", "a long reason"],
)
async def test_what_it_returns_is_why_it_does_not_come(code: str, answer: str) -> None:
    talks = hosted("return 1", choosy(code, "topic", "attendees", "host"), required_attendees=["Choosy"])
    async with talking(talks, Model()) as talk:
        assert (await talk.say("go"))[-1] == f"Meeting 100 did not take place: Choosy: REJECTED - {answer}"
        assert facts(talk, "joined") == []


@pytest.mark.parametrize("value", ["None", "True", '""', '"JOINED"', "1"])
async def test_all_else_comes(value: str) -> None:
    talks = hosted("return 1", choosy(f"return {value}"), required_attendees=["Choosy"])
    async with talking(talks, Model()) as talk:
        assert (await talk.say("go"))[-1] == "1"
    assert [data["who"] for data in facts(talk, "joined")] == ["1001"]


async def test_who_is_invited_later_declines_with_a_reason_that_all_read() -> None:
    code = 'await InviteToMeeting(["Choosy"])\nreturn await heard("Choosy does not")'
    talks = hosted(code, guest("Guest"), choosy('return "not my topic"'), required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == ["Choosy does not join the meeting: REJECTED - not my topic"]
        assert "Choosy does not join the meeting: REJECTED - not my topic" in notices(talk, "Guest")


async def test_who_still_considers_when_asked_again_is_not_busy() -> None:
    world, clock = still()
    talks = hosted("return 1", choosy("await Sleep(100)"), required_attendees=["Choosy"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go")
        await clock.advance(30)
        await clock.advance(60)
        assert (facts(talk, "invite"), len(facts(talk, "asked"))) == ([], 3)
        await clock.advance(10)
        await talk.until(lambda: talk.chat == ["Waiting for Choosy to join."] * 2 + ["1"])


async def test_who_decides_too_late_hears_that_it_is_over() -> None:
    world, clock = still()
    talks = hosted("return 1", choosy("await Sleep(10)"), guest("Guest"), optional_attendees=["Choosy"])
    async with talking(talks, Model(), world=world) as talk:
        assert await post(talk, "go") == ["1"]
        await clock.advance(10)
        await talk.until(lambda: facts(talk, "ret")[-1]["val"] == "Meeting 100 has ended")
    assert facts(talk, "joined") == []


async def test_a_model_considers_too() -> None:
    poet = agent(
        "Poet",
        llm("Consider", "01:RET why not", params=("topic",)),
        python("Join", meeting=True, before_joining="Consider"),
        code=LISTENS,
    )
    reply = block('await Step("Consider:01:RET")', 'await Var("__", "No.")', 'await Return(f"no verse on {topic}")')
    talks = hosted("return 1", poet, required_attendees=["Poet"])
    async with talking(talks, Model(reply), world=still()[0]) as talk:
        talk.post("go")
        failed = "Meeting 100 did not take place: Poet: REJECTED - no verse on Talk"
        await talk.until(lambda: talk.chat[-1:] == [failed])
        assert talk.chat == [failed]


def waiting() -> Program:
    """A meeting that waits for Alice, whom nobody knows yet."""
    return hosted('return await heard("enough")', guest("Guest"), ALICE, CAROL, required_attendees=["Alice", "Guest"])


async def test_what_is_undone_while_somebody_is_asked_to_join_asks_them_again() -> None:
    async with talking(waiting(), Model(), world=still()[0]) as talk:
        assert await post(talk, "go", private=False) == [ASKED]
        await post(talk, "a word", private=False)
        undone = "↩️ Undone. We are back to before Ada said “a word”. Everything since then is forgotten."
        assert await post(talk, "", kind="undo", private=False) == [undone, ASKED]
        join = talk.world.offered[-1].choices[0].id
        shown = await post(talk, "", name="Alice", private=False, kind="choice", choice=join)
        assert shown == ["Meeting started"]
        assert "enough" in await post(talk, "enough", private=False)
    assert talk.named("session.failed") == []


async def test_a_fork_asks_them_as_well_and_the_original_waits_on() -> None:
    async with talking(waiting(), Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        forked = await post(talk, "Another way", kind=FORK_WANTED, private=False)
        [place] = talk.world.threads
        assert forked[-1] == ASKED
        for at in (place, ADDRESS):
            assert await post(talk, "Join", name="Alice", at=at, private=False) == ["Meeting started"]
    assert talk.named("session.failed") == []


async def test_who_was_asked_by_a_declared_name_declines_with_leave() -> None:
    async with talking(waiting(), Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        shown = await post(talk, "", name="Alice", private=False, kind="leave")
        assert shown == [
            "You have declined meeting 100.",
            "Meeting 100 did not take place: Alice: REJECTED - declined",
        ]
    assert [data["answer"] for data in facts(talk, "invite")] == ["REJECTED - declined"]


async def test_an_invitation_to_a_name_that_several_have_says_so() -> None:
    talks = hosted('return await heard("enough")', guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        await talk.say("go", private=False)
        await talk.say("me too", person_id="test:2", private=False)
        told = "Several people are called “Ada”: Ada (1), Ada (2). Invite one of them by that name."
        assert await talk.say("Ada", kind="invite", private=False) == [told]
        assert (await talk.say("test:2", kind="invite", private=False))[-1].endswith("is invited to meeting 100.")


async def test_a_meeting_that_its_host_has_left_says_how_an_invitation_is_answered() -> None:
    world, clock = still()
    code = 'await LeaveMeeting()\nreturn "left"'
    people: dict[str, Any] = {"required_attendees": ["Guest"], "optional_attendees": ["Alice"]}
    async with talking(hosted(code, guest("Guest"), ALICE, CAROL, **people), Model(), world=world) as talk:
        assert await post(talk, "go", private=False) == [ASKED, "left"]
        await clock.advance(31)
        assert talk.chat[-1] == f"{ASKED} Write Join or Decline."
        await post(talk, "join", name="Alice", private=False)
        assert await post(talk, "please say hi", name="Alice", private=False) == ["hi"]
