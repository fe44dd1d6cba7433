"""Questions in a meeting to people who leave it: they count as not answering, and nobody waits for them."""

from __future__ import annotations

import pytest

from runtime.language.program import AgentKind, AgentSpec
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import hosted, notices, post, still
from tests.unit.runtime.sessions.programs import SPAN

pytestmark = pytest.mark.anyio

BOTH = {"required_attendees": ["Ada", "Bo"]}
BEGINS = 'await WaitForMessage("user")\n    await Say("user", f"{await Talk()}")'
"""When both are known."""


async def test_one_of_several_who_leaves_has_not_answered_and_is_not_waited_for(sandbox: MontySandbox) -> None:
    talks = hosted('return await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])', main=BEGINS, **BOTH)
    async with talking(talks, Model(), sandbox, world=still()[0]) as talk:
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


async def test_the_one_person_who_is_asked_and_leaves_answers_none(sandbox: MontySandbox) -> None:
    talks = hosted('return [await Ask("Shall we?", of="Bo")]', main=BEGINS, **BOTH)
    async with talking(talks, Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        assert (await post(talk, "", private=False, kind="leave"))[-1] == "You have left meeting 100."
        assert (await post(talk, "", name="Bo", private=False, kind="leave"))[-1] == "[None]"
    assert notices(talk, "Host")[-3:-1] == ["Ada has left the meeting", "Bo has left the meeting"]


async def test_the_words_by_which_somebody_joins_are_no_vote_and_are_heard_by_the_next_wait(
    sandbox: MontySandbox,
) -> None:
    code = """
votes = await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])
return [votes, [message["text"] for message in await WaitForMessage("user")]]
"""
    people = [AgentSpec(name, AgentKind.HUMAN, SPAN) for name in ("Ada", "Bo")]
    talks = hosted(code, *people, required_attendees=["Ada", "Bo"])
    async with talking(talks, Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "go", private=False)
        assert (await post(talk, "I am here", name="Bo", private=False))[-1] == "@Ada @Bo Shall we?"
        await post(talk, "Yes", name="Bo", private=False)
        shown = await post(talk, "No", private=False)
    assert shown[-1] == "[{'Bo': 'Yes', 'Ada': 'No'}, ['I am here']]"


@pytest.mark.parametrize(
    ("of", "shown", "value"), [('"Bo"', [], "None"), ('["Bo"]', [], "{'Bo': None}")], ids=["alone", "of several"]
)
async def test_who_has_left_is_not_asked(of: str, shown: list[str], value: str, sandbox: MontySandbox) -> None:
    code = f'await heard("Bo has left")\nreturn await Ask("Shall we?", ["Yes", "No"], of={of})'
    async with talking(hosted(code, main=BEGINS, **BOTH), Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        assert (await post(talk, "", name="Bo", private=False, kind="leave"))[2:] == [
            *shown,
            "Meeting has ended",
            value,
        ]


async def test_who_has_left_is_counted_when_others_are_asked(sandbox: MontySandbox) -> None:
    code = 'await heard("Bo has left")\nreturn await Ask("Shall we?", ["Yes", "No"], of=["Bo", "Ada"])'
    async with talking(hosted(code, main=BEGINS, **BOTH), Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        left = await post(talk, "", name="Bo", private=False, kind="leave")
        assert left[2:] == ["@Bo @Ada Shall we?", "Bo has left and will not answer (1 of 2)."]
        assert (await post(talk, "No", private=False))[-1] == "{'Bo': None, 'Ada': 'No'}"


async def test_it_is_so_after_a_restart_in_between(sandbox: MontySandbox) -> None:
    world = still()[0]
    talks = hosted('return await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"])', main=BEGINS, **BOTH)
    async with talking(talks, Model(), sandbox, world=world) as talk:
        await post(talk, "here", private=False)
        await post(talk, "here", name="Bo", private=False)
        await post(talk, "", name="Bo", private=False, kind="leave")
    async with talking(talks, Model(), sandbox, world=world) as talk:
        assert (await post(talk, "Yes", private=False))[-1] == "{'Bo': None, 'Ada': 'Yes'}"
