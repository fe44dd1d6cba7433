"""Ratings that stand: one for each person and message; their sums. Ratings in a process that serves conversations."""

from datetime import timedelta
from functools import partial

import anyio
import pytest

from gateway.features.feedback.ledger import KEPT_DAYS, Feedback, SessionRatings, grouped
from runtime.bus import Bus
from runtime.events.happening import BusEvent
from runtime.events.talk import AnswerRated
from runtime.sessions.features import InSessions
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

ASK = block('await Step("Main:01:QUE")', 'await Say("user", "Where to?")', 'await Yld("user")')


def given(rating: str, *, message: str = "m1", person: str = "test:Ada", **more: str) -> AnswerRated:
    about = {"program": "desk", "step": "Main.Main Main:01", "model": "large", **more}
    return AnswerRated("s", "test:1", about["program"], message, person, rating, about["step"], about["model"])


@pytest.fixture
def ledger(clock: FakeClock) -> Feedback:
    return Feedback(MemoryRecords(), clock)


async def test_a_changed_mind_replaces_a_rating_and_one_that_was_taken_back_is_gone(ledger: Feedback) -> None:
    await ledger.keep(given("up"))
    await ledger.keep(given("down"))
    await ledger.keep(given("up", person="test:Bob"))
    assert [row.rating for row in await ledger.rows(1)] == ["down", "up"]
    await ledger.keep(given("none"))
    assert [row.rating for row in await ledger.rows(1)] == ["up"]


async def test_the_same_rating_twice_counts_once(ledger: Feedback) -> None:
    await ledger.keep(given("up"))
    await ledger.keep(given("up"))
    assert len(await ledger.rows(1)) == 1


async def test_sums_are_by_step_program_and_model_with_most_down_first(ledger: Feedback) -> None:
    await ledger.keep(given("up", step="Main.Greet"))
    await ledger.keep(given("down", message="m2", step="Main.Ship", model="small"))
    await ledger.keep(given("up", message="m3", step="Main.Ship", program="tour"))
    rows = await ledger.rows(1)
    assert grouped(rows, "step") == [("Main.Ship", 1, 1), ("Main.Greet", 1, 0)]
    assert grouped(rows, "model") == [("small", 0, 1), ("large", 2, 0)]
    assert grouped(rows, "program") == [("desk", 1, 1), ("tour", 1, 0)]


async def test_ratings_are_of_their_day_and_forgotten_in_the_end(ledger: Feedback, clock: FakeClock) -> None:
    await ledger.keep(given("up"))
    first = clock.now().date()
    clock.set_calendar(timedelta(days=2).total_seconds())
    await ledger.keep(given("down", message="m2"))
    assert grouped(await ledger.rows(30), "day") == [
        (first.isoformat(), 1, 0),
        ((first + timedelta(days=2)).isoformat(), 0, 1),
    ]
    assert len(await ledger.rows(2)) == 1
    clock.set_calendar(timedelta(days=KEPT_DAYS - 2).total_seconds())
    assert len(await ledger.rows(KEPT_DAYS)) == 1


async def test_it_hears_ratings_on_the_bus(ledger: Feedback, clock: FakeClock) -> None:
    bus = Bus(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ledger.follow, bus)
        await clock.settle()
        bus.publish(given("up"))
        await clock.settle()
        tasks.cancel_scope.cancel()
    assert len(await ledger.rows(1)) == 1


async def test_a_thumb_tells_the_bus_which_step_it_is_of() -> None:
    travel = program(agent("Travel", llm("Main", "01:QUE Ask; YLD for user", begins=True)))
    bus, events = Bus(FakeClock()), list[BusEvent]()
    bus.subscribe("*", events.append)
    async with talking(travel, Model(ASK), features=[InSessions(partial(SessionRatings, bus=bus))], after="go") as talk:
        asked = str(talk.chat.index("Where to?"))
        await talk.say("", kind="reaction", message_id=asked, choice="down")
    [given] = [event.what for event in events if isinstance(event.what, AnswerRated)]
    assert (given.rating, given.step, given.participant_id) == ("down", "Travel.Main Main:01:QUE", "test:Ada")
