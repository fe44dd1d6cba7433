"""Ratings in a process that serves conversations."""

from __future__ import annotations

import pytest

from gateway.features.feedback.ledger import NodeRatings
from runtime.bus import Bus
from runtime.events.happening import Event
from runtime.events.talk import AnswerRated
from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

pytestmark = pytest.mark.anyio

ASK = block('await Step("Main:01:QUE")', 'await Say("user", "Where to?")', 'await Yld("user")')


async def test_a_thumb_tells_the_bus_which_step_it_is_of(sandbox: MontySandbox) -> None:
    travel = program(agent("Travel", llm("Main", "01:QUE Ask; YLD for user", begins=True)))
    bus, events = Bus(FakeClock()), list[Event]()
    bus.subscribe("*", events.append)
    async with talking(travel, Model(ASK), sandbox, features=[NodeRatings(bus)]) as talk:
        await talk.say("go")
        asked = str(talk.chat.index("Where to?"))
        await talk.say("", kind="reaction", message_id=asked, choice="down")
    [given] = [event.what for event in events if isinstance(event.what, AnswerRated)]
    assert (given.rating, given.step, given.participant_id) == ("down", "Travel.Main Main:01:QUE", "test:Ada")
