"""A place that people delete while a meeting is held there: the meeting goes on where its session lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runtime.core.texts import english
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.inbound.participants import SeatAct
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.player import Player, says
from tests.fakes.people.talk import Talk
from tests.unit.runtime.sessions.crashes.programs.participants import SCOUT
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import (
    ASKED,
    ENDED,
    PLACE,
    Stage,
    council,
    opened,
    seen_at,
    there,
)
from tests.unit.runtime.sessions.programs import program

pytestmark = pytest.mark.anyio

LOST = english()("session.meeting_place_lost", topic="The boat")


async def at_home(talk: Talk, text: str) -> list[str]:
    """Somebody says something at home; what is new there when all is quiet."""
    before = len(seen_at(talk, ADDRESS))
    await talk.say(text, private=False)
    return seen_at(talk, ADDRESS)[before:]


async def test_a_meeting_whose_place_is_gone_goes_on_at_home_with_one_notice(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        await there(talk, "a red one")
        talk.world.gone.add(PLACE)
        home = len(seen_at(talk, ADDRESS))
        assert await there(talk, "a blue one") == []
        assert seen_at(talk, ADDRESS)[home:] == [LOST, "heard a blue one"]
        assert await at_home(talk, "a green one") == ["heard a green one"]
        assert await at_home(talk, "done") == ["Meeting has ended", "it came to 3"]
        assert seen_at(talk, PLACE)[-1] == "heard a red one"
        assert [event.data["meeting_id"] for event in talk.named("meeting.placeless")] == ["100"]


async def test_a_restart_knows_that_the_place_is_gone(sandbox: MontySandbox) -> None:
    stage = Stage()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
    async with stage.talking(sandbox) as talk:
        assert await at_home(talk, "a blue one") == ["heard a blue one"]
        assert seen_at(talk, ADDRESS).count(LOST) == 1


async def test_what_is_written_in_a_place_that_only_refuses_us_is_heard(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
        await there(talk, "a blue one", name="Bob")
        assert seen_at(talk, ADDRESS)[-2:] == ["Bob has joined the meeting", "heard a blue one"]
        assert [event.data["error"] for event in talk.named("session.failed")] == []


async def test_open_questions_are_asked_again_at_home(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        await there(talk, "ask")
        talk.world.gone.add(PLACE)
        await there(talk, "", kind="who")
        assert sorted(seen_at(talk, ADDRESS)[-3:]) == sorted([LOST, "Which?", "- Ada\n- Host (agent)"])
        choice = talk.world.offered[-1].choices[0]
        await talk.say("a", kind="choice", choice=choice.id)
        assert "chosen: a" in seen_at(talk, ADDRESS)


async def test_a_question_that_is_refused_in_its_place_is_asked_at_home(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        await there(talk, "ask")
        assert seen_at(talk, ADDRESS)[-2:] == [LOST, "Which?"]
        choice = talk.world.offered[-1].choices[1]
        await talk.say("b", kind="choice", choice=choice.id)
        assert seen_at(talk, ADDRESS)[-1] == "chosen: b"
        assert talk.world.settled[-1].address == ADDRESS


async def test_a_place_that_is_gone_at_once_is_left_at_once(sandbox: MontySandbox) -> None:
    stage = Stage()
    stage.world.gone.add(PLACE)
    async with stage.talking(sandbox) as talk:
        await talk.say("hi")
        talk.post("meet")
        await talk.until(lambda: ASKED in seen_at(talk, ADDRESS))
        assert await at_home(talk, "Join") == ["Meeting started"]
        assert await at_home(talk, "a red one") == ["heard a red one"]
        assert seen_at(talk, ADDRESS).count(LOST) == 1


async def test_an_invitation_that_was_not_answered_is_made_at_home(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk, joins=False)
        talk.world.gone.add(PLACE)
        talk.post("", kind="who", place=PLACE)
        await talk.until(lambda: {ASKED, "- Ada\n- Host (agent)"} <= set(seen_at(talk, ADDRESS)))
        assert await at_home(talk, "Join") == ["Meeting started"]
        assert await at_home(talk, "a red one") == ["heard a red one"]


async def test_a_place_that_is_gone_when_its_meeting_ends_costs_no_words(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        await there(talk, "done")
        assert ENDED not in talk.chat
        assert seen_at(talk, ADDRESS)[-1] == "it came to 0"


async def test_what_a_meeting_says_last_is_said_at_home_when_its_place_is_gone(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        talk.post("a word", place=PLACE, private=False)
        talk.post("done", place=PLACE, private=False)
        await talk.world.idle.wait()
        assert seen_at(talk, ADDRESS).count(LOST) == 1
        assert "heard a word" in seen_at(talk, ADDRESS)


async def test_what_an_agent_from_elsewhere_says_is_shown_at_home_when_the_place_is_gone(sandbox: MontySandbox) -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        return [says("a blue one", to="meeting")] if content["text"] in ("and you?", "again?") else []

    stage = Stage()
    stage.world.player = Player(stage.world.mailboxes, plays, stage.world, stage.world.clock)
    made = program(*council(optional_attendees=["Scout"]).agents, SCOUT)
    async with stage.talking(sandbox, made) as talk:
        await opened(talk)
        await talk.until(lambda: "1001" in str(talk.facts("joined")))
        talk.world.gone.add(PLACE)
        await there(talk, "and you?")
        assert sorted(seen_at(talk, ADDRESS)[-3:]) == sorted([LOST, "a blue one", "heard and you?"])
        assert sorted(await at_home(talk, "again?")) == ["a blue one", "heard again?"]


async def test_undo_before_the_loss_finds_it_out_again(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox) as talk:
        await opened(talk)
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
        await talk.say("", kind="undo")
        assert await at_home(talk, "well") != []
        await there(talk, "a blue one")
        assert "heard a blue one" in seen_at(talk, ADDRESS)
        assert seen_at(talk, ADDRESS).count(LOST) == 2
