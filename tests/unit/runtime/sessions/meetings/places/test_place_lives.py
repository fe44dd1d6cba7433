"""Places of meetings through what may happen to their sessions: other nodes, an archive, other machines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runtime.sandbox.monty import MontySandbox
from runtime.sessions.meetings.places import keep_places
from runtime.stores.archive import session_from, session_lines
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import HeldPlace
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.talk import Talk
from tests.unit.runtime.sessions.idle.test_archived import AWAY, Cold
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import (
    BEGINS,
    ENDED,
    OVER,
    PLACE,
    PatientClock,
    Stage,
    opened,
    seen_at,
    there,
)

pytestmark = pytest.mark.anyio


async def leave(talk: Talk, *, planned: bool) -> None:
    """The node gives the shard away, or has lost it."""
    if planned:
        await talk.registry.park(0, 1.0)
    talk.registry.lost(0)


@pytest.mark.parametrize("planned", [True, False])
async def test_another_node_goes_on_in_an_open_place(planned: bool, sandbox: MontySandbox) -> None:
    stage = Stage()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        await there(talk, "a red one")
        await leave(talk, planned=planned)
    async with stage.talking(sandbox) as other:
        assert await there(other, "a blue one") == ["heard a blue one"]
        assert (await there(other, "done"))[-1] == ENDED
        assert seen_at(other, ADDRESS)[-1] == "it came to 2"
        assert seen_at(other, PLACE).count(BEGINS) == 1
        assert await there(other, "too late") == [OVER]


@pytest.mark.parametrize("planned", [True, False])
async def test_another_node_answers_where_a_meeting_was_held(planned: bool, sandbox: MontySandbox) -> None:
    stage = Stage()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        await there(talk, "done")
        await leave(talk, planned=planned)
    async with stage.talking(sandbox) as other:
        assert await there(other, "hello?") == [OVER]
        assert await other.say("well") == ["home: well"]


async def test_what_is_said_in_a_place_while_a_node_parks_is_heard_by_the_next(sandbox: MontySandbox) -> None:
    stage = Stage()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        await talk.registry.park(0, 1.0)
        talk.post("a red one", place=PLACE, private=False)
        talk.registry.lost(0)
        assert seen_at(talk, PLACE)[-1] != "heard a red one"
    async with stage.talking(sandbox) as other:
        for entry in stage.world.waiting:
            stage.world.hand_over(entry)
        await other.world.idle.wait()
        assert seen_at(other, PLACE)[-1] == "heard a red one"


@pytest.mark.parametrize("ends", [False, True])
async def test_a_place_leads_to_a_session_that_comes_out_of_the_archive(ends: bool, sandbox: MontySandbox) -> None:
    stage, cold = Stage(), Cold()
    cold.clock = PatientClock()
    stage.world = cold
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        if ends:
            await there(talk, "done")
    cold.put_all_away()
    async with stage.talking(sandbox) as talk:
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
async def test_the_places_of_a_session_that_is_taken_in_from_a_file_lead_to_it(
    ends: bool, sandbox: MontySandbox
) -> None:
    stage, elsewhere = Stage(), MemoryPlaceStore()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        if ends:
            await there(talk, "done")
        whole = whole_of(talk)
        await keep_places(whole, elsewhere)
        assert elsewhere.held == stage.places.held == {PLACE.key: HeldPlace(ADDRESS, whole.record.id, "100")}


async def test_a_place_that_is_known_keeps_what_is_known_when_a_session_is_taken_in(sandbox: MontySandbox) -> None:
    stage = Stage()
    async with stage.talking(sandbox) as talk:
        await opened(talk)
        await there(talk, "a red one")
        await talk.say("", kind="undo")
        held = dict(stage.places.held)
        await keep_places(whole_of(talk), stage.places)
        assert stage.places.held == held
