"""Agents that consider an invitation before they join, by a playbook of their own."""

from __future__ import annotations

import pytest

from runtime.language.program import AgentSpec
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import LISTENS, facts, guest, hosted, notices, post, still
from tests.unit.runtime.sessions.programs import agent, llm, python

pytestmark = pytest.mark.anyio


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
async def test_what_it_returns_is_why_it_does_not_come(code: str, answer: str, sandbox: MontySandbox) -> None:
    talks = hosted("return 1", choosy(code, "topic", "attendees", "host"), required_attendees=["Choosy"])
    async with talking(talks, Model(), sandbox) as talk:
        assert (await talk.say("go"))[-1] == f"Meeting 100 did not take place: Choosy: REJECTED - {answer}"
        assert facts(talk, "joined") == []


@pytest.mark.parametrize("value", ["None", "True", '""', '"JOINED"', "1"])
async def test_all_else_comes(value: str, sandbox: MontySandbox) -> None:
    talks = hosted("return 1", choosy(f"return {value}"), required_attendees=["Choosy"])
    async with talking(talks, Model(), sandbox) as talk:
        assert (await talk.say("go"))[-1] == "1"
    assert [data["who"] for data in facts(talk, "joined")] == ["1001"]


async def test_who_is_invited_later_declines_with_a_reason_that_all_read(sandbox: MontySandbox) -> None:
    code = 'await InviteToMeeting(["Choosy"])\nreturn await heard("Choosy does not")'
    talks = hosted(code, guest("Guest"), choosy('return "not my topic"'), required_attendees=["Guest"])
    async with talking(talks, Model(), sandbox) as talk:
        assert await talk.say("go") == ["Choosy does not join the meeting: REJECTED - not my topic"]
        assert "Choosy does not join the meeting: REJECTED - not my topic" in notices(talk, "Guest")


async def test_who_still_considers_when_asked_again_is_not_busy(sandbox: MontySandbox) -> None:
    world, clock = still()
    talks = hosted("return 1", choosy("await Sleep(100)"), required_attendees=["Choosy"])
    async with talking(talks, Model(), sandbox, world=world) as talk:
        await post(talk, "go")
        await clock.advance(30)
        await clock.advance(60)
        assert (facts(talk, "invite"), len(facts(talk, "asked"))) == ([], 3)
        await clock.advance(10)
        await talk.until(lambda: talk.chat == ["Waiting for Choosy to join."] * 2 + ["1"])


async def test_who_decides_too_late_hears_that_it_is_over(sandbox: MontySandbox) -> None:
    world, clock = still()
    talks = hosted("return 1", choosy("await Sleep(10)"), guest("Guest"), optional_attendees=["Choosy"])
    async with talking(talks, Model(), sandbox, world=world) as talk:
        assert await post(talk, "go") == ["1"]
        await clock.advance(10)
        await talk.until(lambda: facts(talk, "ret")[-1]["val"] == "Meeting 100 has ended")
    assert facts(talk, "joined") == []


async def test_a_model_considers_too(sandbox: MontySandbox) -> None:
    poet = agent(
        "Poet",
        llm("Consider", "01:RET why not", params=("topic",)),
        python("Join", meeting=True, before_joining="Consider"),
        code=LISTENS,
    )
    reply = block('await Step("Consider:01:RET")', 'await Var("__", "No.")', 'await Return(f"no verse on {topic}")')
    talks = hosted("return 1", poet, required_attendees=["Poet"])
    async with talking(talks, Model(reply), sandbox, world=still()[0]) as talk:
        talk.post("go")
        failed = "Meeting 100 did not take place: Poet: REJECTED - no verse on Talk"
        await talk.until(lambda: talk.chat[-1:] == [failed])
        assert talk.chat == [failed]
