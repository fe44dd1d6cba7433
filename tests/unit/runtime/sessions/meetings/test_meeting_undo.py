"""What is undone, forked or declined while people are asked to a meeting."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import FORK_WANTED
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, guest, hosted, post, still
from tests.unit.runtime.sessions.meetings.test_meeting_people import ALICE, ASKED, CAROL

pytestmark = pytest.mark.anyio


def waiting() -> Program:
    """A meeting that waits for Alice, whom nobody knows yet."""
    return hosted('return await heard("enough")', guest("Guest"), ALICE, CAROL, required_attendees=["Alice", "Guest"])


async def test_what_is_undone_while_somebody_is_asked_to_join_asks_them_again(sandbox: MontySandbox) -> None:
    async with talking(waiting(), Model(), sandbox, world=still()[0]) as talk:
        assert await post(talk, "go", private=False) == [ASKED]
        await post(talk, "a word", private=False)
        undone = "↩️ Undone. We are back to before Ada said “a word”. Everything since then is forgotten."
        assert await post(talk, "", kind="undo", private=False) == [undone, ASKED]
        join = talk.world.offered[-1].choices[0].id
        shown = await post(talk, "", name="Alice", private=False, kind="choice", choice=join)
        assert shown == ["Meeting started"]
        assert "enough" in await post(talk, "enough", private=False)
    assert talk.named("session.failed") == []


async def test_a_fork_asks_them_as_well_and_the_original_waits_on(sandbox: MontySandbox) -> None:
    async with talking(waiting(), Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "go", private=False)
        forked = await post(talk, "Another way", kind=FORK_WANTED, private=False)
        [place] = talk.world.threads
        assert forked[-1] == ASKED
        for at in (place, ADDRESS):
            assert await post(talk, "Join", name="Alice", at=at, private=False) == ["Meeting started"]
    assert talk.named("session.failed") == []


async def test_who_was_asked_by_a_declared_name_declines_with_leave(sandbox: MontySandbox) -> None:
    async with talking(waiting(), Model(), sandbox, world=still()[0]) as talk:
        await post(talk, "go", private=False)
        shown = await post(talk, "", name="Alice", private=False, kind="leave")
        assert shown == [
            "You have declined meeting 100.",
            "Meeting 100 did not take place: Alice: REJECTED - declined",
        ]
    assert [data["answer"] for data in facts(talk, "invite")] == ["REJECTED - declined"]


async def test_an_invitation_to_a_name_that_several_have_says_so(sandbox: MontySandbox) -> None:
    talks = hosted('return await heard("enough")', guest("Guest"), required_attendees=["Guest"])
    async with talking(talks, Model(), sandbox) as talk:
        await talk.say("go", private=False)
        await talk.say("me too", person_id="test:2", private=False)
        told = "Several people are called “Ada”: Ada (1), Ada (2). Invite one of them by that name."
        assert await talk.say("Ada", kind="invite", private=False) == [told]
        assert (await talk.say("test:2", kind="invite", private=False))[-1].endswith("is invited to meeting 100.")


async def test_a_meeting_that_its_host_has_left_says_how_an_invitation_is_answered(sandbox: MontySandbox) -> None:
    world, clock = still()
    code = 'await LeaveMeeting()\nreturn "left"'
    people: dict[str, Any] = {"required_attendees": ["Guest"], "optional_attendees": ["Alice"]}
    async with talking(hosted(code, guest("Guest"), ALICE, CAROL, **people), Model(), sandbox, world=world) as talk:
        assert await post(talk, "go", private=False) == [ASKED, "left"]
        await clock.advance(31)
        assert talk.chat[-1] == f"{ASKED} Write Join or Decline."
        await post(talk, "join", name="Alice", private=False)
        assert await post(talk, "please say hi", name="Alice", private=False) == ["hi"]
