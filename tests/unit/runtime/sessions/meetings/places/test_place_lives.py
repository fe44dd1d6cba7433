"""Places of meetings and what may happen to them: other nodes, an archive, an end, files and marks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.core.message import Attachment
from runtime.core.texts import english
from runtime.sessions.inbound.participants import SeatAct
from runtime.sessions.meetings.places import keep_places
from runtime.stores.archive import session_from, session_lines
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import HeldPlace
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.player import Player, says
from tests.fakes.people.talk import Talk
from tests.unit.gateway.features.files.test_files import CSV, FilesAtHand
from tests.unit.runtime.sessions.crashes.programs.participants import SCOUT
from tests.unit.runtime.sessions.idle.test_leaving_memory import AWAY, Cold
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import (
    ASKED,
    BEGINS,
    ENDED,
    OVER,
    PLACE,
    PatientClock,
    Stage,
    council,
    seen_at,
    shown_at,
    there,
)
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python


async def leave(talk: Talk, *, planned: bool) -> None:
    """The node gives the shard away, or has lost it."""
    if planned:
        await talk.registry.park(0, 1.0)
    talk.registry.lost(0)


@pytest.mark.parametrize("planned", [True, False])
async def test_another_node_goes_on_in_an_open_place(planned: bool) -> None:
    stage = Stage()
    async with stage.met() as talk:
        await there(talk, "a red one")
        await leave(talk, planned=planned)
    async with stage.talking() as other:
        assert await there(other, "a blue one") == ["heard a blue one"]
        assert (await there(other, "done"))[-1] == ENDED
        assert seen_at(other, ADDRESS)[-1] == "it came to 2"
        assert seen_at(other, PLACE).count(BEGINS) == 1
        assert await there(other, "too late") == [OVER]


@pytest.mark.parametrize("planned", [True, False])
async def test_another_node_answers_where_a_meeting_was_held(planned: bool) -> None:
    stage = Stage()
    async with stage.met() as talk:
        await there(talk, "done")
        await leave(talk, planned=planned)
    async with stage.talking() as other:
        assert await there(other, "hello?") == [OVER]
        assert await other.say("well") == ["home: well"]


async def test_what_is_said_in_a_place_while_a_node_parks_is_heard_by_the_next() -> None:
    stage = Stage()
    async with stage.met() as talk:
        await talk.registry.park(0, 1.0)
        talk.post("a red one", place=PLACE, private=False)
        talk.registry.lost(0)
        assert seen_at(talk, PLACE)[-1] != "heard a red one"
    async with stage.talking() as other:
        for entry in stage.world.waiting:
            stage.world.hand_over(entry)
        await other.world.idle.wait()
        assert seen_at(other, PLACE)[-1] == "heard a red one"


@pytest.mark.parametrize("ends", [False, True])
async def test_a_place_leads_to_a_session_that_comes_out_of_the_archive(ends: bool) -> None:
    stage, cold = Stage(), Cold()
    cold.clock = PatientClock()
    stage.world = cold
    async with stage.met() as talk:
        if ends:
            await there(talk, "done")
    cold.put_all_away()
    async with stage.talking() as talk:
        assert await there(talk, "hello?") == [AWAY]
        await talk.rested()
        cold.answer()
        assert await there(talk, "hello?") == ([OVER] if ends else ["heard hello?"])


def whole_of(talk: Talk) -> WholeSession:
    """The session as it is read from a file that was written of it."""
    record = next(iter(talk.world._records.values()))
    facts = [fact for fact in talk.world.facts if fact.tape.startswith(record.id)]
    whole = WholeSession(replace(record, seq=len(facts)), False, frozenset(), facts)
    return session_from([json.loads(line) for line in session_lines(whole)])


@pytest.mark.parametrize("ends", [False, True])
async def test_the_places_of_a_session_that_is_taken_in_from_a_file_lead_to_it(ends: bool) -> None:
    stage, elsewhere = Stage(), MemoryPlaceStore()
    async with stage.met() as talk:
        if ends:
            await there(talk, "done")
        whole = whole_of(talk)
        await keep_places(whole, elsewhere)
        assert elsewhere.held == stage.places.held == {PLACE.key: HeldPlace(ADDRESS, whole.record.id, "100")}


async def test_a_place_that_is_known_keeps_what_is_known_when_a_session_is_taken_in() -> None:
    stage = Stage()
    async with stage.met() as talk:
        await there(talk, "a red one")
        await talk.say("", kind="undo")
        held = dict(stage.places.held)
        await keep_places(whole_of(talk), stage.places)
        assert stage.places.held == held


LOST = english()("session.meeting_place_lost", topic="The boat")


async def at_home(talk: Talk, text: str) -> list[str]:
    """Somebody says something at home; what is new there when all is quiet."""
    before = len(seen_at(talk, ADDRESS))
    await talk.say(text, private=False)
    return seen_at(talk, ADDRESS)[before:]


async def test_a_meeting_whose_place_is_gone_goes_on_at_home_with_one_notice() -> None:
    async with Stage().met() as talk:
        await there(talk, "a red one")
        talk.world.gone.add(PLACE)
        home = len(seen_at(talk, ADDRESS))
        assert await there(talk, "a blue one") == []
        assert seen_at(talk, ADDRESS)[home:] == [LOST, "heard a blue one"]
        assert await at_home(talk, "a green one") == ["heard a green one"]
        assert await at_home(talk, "done") == ["Meeting has ended", "it came to 3"]
        assert seen_at(talk, PLACE)[-1] == "heard a red one"
        assert [event.data["meeting_id"] for event in talk.named("meeting.placeless")] == ["100"]


async def test_a_restart_knows_that_the_place_is_gone() -> None:
    stage = Stage()
    async with stage.met() as talk:
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
    async with stage.talking() as talk:
        assert await at_home(talk, "a blue one") == ["heard a blue one"]
        assert seen_at(talk, ADDRESS).count(LOST) == 1


async def test_what_is_written_in_a_place_that_only_refuses_us_is_heard() -> None:
    async with Stage().met() as talk:
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
        await there(talk, "a blue one", name="Bob")
        assert seen_at(talk, ADDRESS)[-2:] == ["Bob has joined the meeting", "heard a blue one"]
        assert [event.data["error"] for event in talk.named("session.failed")] == []


async def test_open_questions_are_asked_again_at_home() -> None:
    async with Stage().met() as talk:
        await there(talk, "ask")
        talk.world.gone.add(PLACE)
        await there(talk, "", kind="who")
        assert sorted(seen_at(talk, ADDRESS)[-3:]) == sorted([LOST, "Which?", "- Ada\n- Host (agent)"])
        choice = talk.world.offered[-1].choices[0]
        await talk.say("a", kind="choice", choice=choice.id)
        assert "chosen: a" in seen_at(talk, ADDRESS)


async def test_a_question_that_is_refused_in_its_place_is_asked_at_home() -> None:
    async with Stage().met() as talk:
        talk.world.gone.add(PLACE)
        await there(talk, "ask")
        assert seen_at(talk, ADDRESS)[-2:] == [LOST, "Which?"]
        choice = talk.world.offered[-1].choices[1]
        await talk.say("b", kind="choice", choice=choice.id)
        assert seen_at(talk, ADDRESS)[-1] == "chosen: b"
        assert talk.world.settled[-1].address == ADDRESS


async def test_a_place_that_is_gone_at_once_is_left_at_once() -> None:
    stage = Stage()
    stage.world.gone.add(PLACE)
    async with stage.talking() as talk:
        await talk.say("hi")
        talk.post("meet")
        await talk.until(lambda: ASKED in seen_at(talk, ADDRESS))
        assert await at_home(talk, "Join") == ["Meeting started"]
        assert await at_home(talk, "a red one") == ["heard a red one"]
        assert seen_at(talk, ADDRESS).count(LOST) == 1


async def test_an_invitation_that_was_not_answered_is_made_at_home() -> None:
    async with Stage().met(joins=False) as talk:
        talk.world.gone.add(PLACE)
        talk.post("", kind="who", place=PLACE)
        await talk.until(lambda: {ASKED, "- Ada\n- Host (agent)"} <= set(seen_at(talk, ADDRESS)))
        assert await at_home(talk, "Join") == ["Meeting started"]
        assert await at_home(talk, "a red one") == ["heard a red one"]


async def test_a_place_that_is_gone_when_its_meeting_ends_costs_no_words() -> None:
    async with Stage().met() as talk:
        talk.world.gone.add(PLACE)
        await there(talk, "done")
        assert ENDED not in talk.chat
        assert seen_at(talk, ADDRESS)[-1] == "it came to 0"


async def test_what_a_meeting_says_last_is_said_at_home_when_its_place_is_gone() -> None:
    async with Stage().met() as talk:
        talk.world.gone.add(PLACE)
        talk.post("a word", place=PLACE, private=False)
        talk.post("done", place=PLACE, private=False)
        await talk.world.idle.wait()
        assert seen_at(talk, ADDRESS).count(LOST) == 1
        assert "heard a word" in seen_at(talk, ADDRESS)


async def test_what_an_agent_from_elsewhere_says_is_shown_at_home_when_the_place_is_gone() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        return [says("a blue one", to="meeting")] if content["text"] in ("and you?", "again?") else []

    stage = Stage()
    stage.world.player = Player(stage.world.mailboxes, plays, stage.world, stage.world.clock)
    made = program(*council(optional_attendees=["Scout"]).agents, SCOUT)
    async with stage.met(made) as talk:
        await talk.until(lambda: "1001" in str(talk.facts("joined")))
        talk.world.gone.add(PLACE)
        await there(talk, "and you?")
        assert sorted(seen_at(talk, ADDRESS)[-3:]) == sorted([LOST, "a blue one", "heard and you?"])
        assert sorted(await at_home(talk, "again?")) == ["a blue one", "heard again?"]


async def test_undo_before_the_loss_finds_it_out_again() -> None:
    async with Stage().met() as talk:
        talk.world.gone.add(PLACE)
        await there(talk, "a red one")
        await talk.say("", kind="undo")
        assert await at_home(talk, "well") != []
        await there(talk, "a blue one")
        assert "heard a blue one" in seen_at(talk, ADDRESS)
        assert seen_at(talk, ADDRESS).count(LOST) == 2


READING = """
async def Main():
    await Say("user", "hello")
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "meet":
                await Council()
            else:
                await SendFile("home.md", "# home", "at home")

async def Council():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "done":
                return
            if message.get("files"):
                await Say("meeting", await ReadFile(message["files"][0]))
            elif message["text"] == "send":
                await SendFile("plan.md", "# plan", "the plan")
            elif message.get("human"):
                await Say("meeting", "heard " + message["text"])
"""

MADE = program(
    agent(
        "Host",
        MAIN,
        python("Council", meeting=True, required_attendees=["user"], topic="The boat"),
        code=READING,
    )
)


async def test_a_file_is_sent_where_the_meeting_is_and_afterwards_at_home() -> None:
    files = FilesAtHand()
    async with Stage().met(MADE, files=files) as talk:
        assert await there(talk, "send") == ["the plan"]
        [sent] = [shown.spec.file for shown in shown_at(talk, PLACE) if shown.spec is not None and shown.spec.file]
        assert (sent.name, files.kept) == ("plan.md", [b"# plan"])
        await there(talk, "done")
        assert await talk.say("well") == ["at home"]
        assert shown_at(talk, ADDRESS)[-1].spec.file.name == "home.md"  # type: ignore[union-attr]


async def test_a_file_that_somebody_sends_to_a_meeting_can_be_read_there() -> None:
    files = FilesAtHand(test_1=b"a,b")
    async with Stage().met(MADE, files=files) as talk:
        assert await there(talk, "look", files=[CSV]) == ["a,b"]
        assert files.fetched == [("test", "test:1")]


async def test_a_file_that_cannot_be_read_costs_the_meeting_nothing() -> None:
    gone = Attachment("gone.csv", "text/csv", "test:9")
    code = READING.replace(
        'await Say("meeting", await ReadFile(message["files"][0]))',
        'await Say("meeting", "got " + message["files"][0][0])',
    )
    made = program(agent("Host", *MADE.agents[0].playbooks, code=code))
    async with Stage().met(made, files=FilesAtHand()) as talk:
        assert await there(talk, "look", files=[gone]) == ["got gone.csv"]


async def test_agents_are_seen_to_work_in_the_place_while_the_meeting_lasts() -> None:
    async with Stage().met(MADE, files=FilesAtHand()) as talk:
        talk.world.typed_at.clear()
        await there(talk, "a red one")
        assert set(talk.world.typed_at) == {PLACE}
        await there(talk, "done")
        talk.world.typed_at.clear()
        await talk.say("well")
        assert PLACE not in talk.world.typed_at
