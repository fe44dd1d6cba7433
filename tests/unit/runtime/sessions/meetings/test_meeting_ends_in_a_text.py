"""A meeting ends while its guests are speaking: each text ends where it began, whole and once."""

from typing import Any

import anyio

from runtime.language.program import Program
from runtime.meetings.meeting import MeetingHabits
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.runtime.execution.processor.walking import compiled
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import HOST, PLACE, Stage, opened, seen_at
from tests.unit.runtime.sessions.meetings.test_meeting_life import guest, hosted, post, still
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

GUEST = """
# Guest
You like boats.
## Council
meeting: true
### Steps
- While the meeting is active
  - Wait for the meeting
  - Tell the meeting what you think of it
- Return
"""
OPINION = "I would paint it red, " + "with a white line, " * 10 + "and that is all."


async def house() -> Program:
    about: dict[str, Any] = {"required_attendees": ["user", "Guest"], "topic": "The boat"}
    host = agent("Host", MAIN, python("Council", meeting=True, **about), code=HOST)
    return program(host, *(await compiled(GUEST)).agents)


async def spoken_over_the_end() -> tuple[Talk, list[str]]:
    """A talk in which the host ends the meeting while the guest is in the middle of a text; what the place shows."""
    stage, gate = Stage(), anyio.Event()
    around: dict[str, Any] = {"meetings": MeetingHabits(threads=True), "places": stage.places}
    model = Model(Reply(OPINION, gate=gate))
    async with talking(await house(), model, world=stage.world, **around) as talk:
        await opened(talk)
        talk.post("a boat", place=PLACE, private=False)
        await model.writing.wait()
        talk.post("done", place=PLACE, private=False)
        await talk.until(lambda: "it came to 1" in seen_at(talk, ADDRESS))
        gate.set()
        await talk.world.idle.wait()
        return talk, seen_at(talk, PLACE)


async def test_a_guests_text_ends_where_it_began_whole_and_once() -> None:
    talk, there_seen = await spoken_over_the_end()
    assert there_seen.count(OPINION) == 1
    assert not any("I would paint" in text for text in seen_at(talk, ADDRESS))
    assert [text for text in there_seen if "I would paint" in text] == [OPINION]
    assert not [event for event in talk.events if event.name in ("playbook.failed", "step.rejected")]


async def test_a_guest_that_speaks_when_its_meeting_has_ended_goes_on() -> None:
    late = """
async def Join():
    await Sleep(20)
    await Say("meeting", "too late")
    await Say("meeting 100", "still too late")
    await Say("user", "I went home")
"""
    world, clock = still()
    talks = hosted("await Sleep(10)\nreturn 1", guest("Guest", late), required_attendees=["Guest"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go")
        await clock.advance(10)
        await clock.advance(10)
        await talk.until(lambda: talk.chat == ["1", "I went home"])
        assert not talk.named("playbook.failed")


async def test_a_loop_that_lasts_as_long_as_a_meeting_waits_for_it_and_asks_no_model() -> None:
    patient = """
# Guest
## Council
meeting: true
### Steps
- While the meeting is active
  - Say "I hear you."
- Return
"""
    about: dict[str, Any] = {"required_attendees": ["user", "Guest"], "topic": "The boat"}
    host = agent("Host", MAIN, python("Council", meeting=True, **about), code=HOST)
    stage, model = Stage(), Model()
    around: dict[str, Any] = {"meetings": MeetingHabits(threads=True), "places": stage.places}
    council = program(host, *(await compiled(patient)).agents)
    async with talking(council, model, world=stage.world, **around) as talk:
        await opened(talk)
        talk.post("a boat", place=PLACE, private=False)
        await talk.world.idle.wait()
        talk.post("done", place=PLACE, private=False)
        await talk.until(lambda: "it came to 1" in seen_at(talk, ADDRESS))
        await talk.world.idle.wait()
        assert seen_at(talk, PLACE).count("I hear you.") == 2
        assert not talk.named("playbook.failed")
    assert model.asked == []
