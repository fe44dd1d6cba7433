"""Files, marks and signs of work where a meeting is held in a place of its own."""

from __future__ import annotations

import pytest

from runtime.core.message import Attachment
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import ADDRESS
from tests.unit.gateway.features.files.test_files import CSV, FilesAtHand
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import PLACE, Stage, opened, shown_at, there
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

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
        python("Main", trigger="BGN When program starts"),
        python("Council", meeting=True, required_attendees=["user"], topic="The boat"),
        code=READING,
    )
)


async def test_a_file_is_sent_where_the_meeting_is_and_afterwards_at_home(sandbox: MontySandbox) -> None:
    files = FilesAtHand()
    async with Stage().talking(sandbox, MADE, files=files) as talk:
        await opened(talk)
        assert await there(talk, "send") == ["the plan"]
        [sent] = [shown.spec.file for shown in shown_at(talk, PLACE) if shown.spec is not None and shown.spec.file]
        assert (sent.name, files.kept) == ("plan.md", [b"# plan"])
        await there(talk, "done")
        assert await talk.say("well") == ["at home"]
        assert shown_at(talk, ADDRESS)[-1].spec.file.name == "home.md"  # type: ignore[union-attr]


async def test_a_file_that_somebody_sends_to_a_meeting_can_be_read_there(sandbox: MontySandbox) -> None:
    files = FilesAtHand(test_1=b"a,b")
    async with Stage().talking(sandbox, MADE, files=files) as talk:
        await opened(talk)
        assert await there(talk, "look", files=[CSV]) == ["a,b"]
        assert files.fetched == [("test", "test:1")]


async def test_a_file_that_cannot_be_read_costs_the_meeting_nothing(sandbox: MontySandbox) -> None:
    gone = Attachment("gone.csv", "text/csv", "test:9")
    code = READING.replace(
        'await Say("meeting", await ReadFile(message["files"][0]))',
        'await Say("meeting", "got " + message["files"][0][0])',
    )
    made = program(agent("Host", *MADE.agents[0].playbooks, code=code))
    async with Stage().talking(sandbox, made, files=FilesAtHand()) as talk:
        await opened(talk)
        assert await there(talk, "look", files=[gone]) == ["got gone.csv"]


async def test_agents_are_seen_to_work_in_the_place_while_the_meeting_lasts(sandbox: MontySandbox) -> None:
    async with Stage().talking(sandbox, MADE, files=FilesAtHand()) as talk:
        await opened(talk)
        talk.world.typed_at.clear()
        await there(talk, "a red one")
        assert set(talk.world.typed_at) == {PLACE}
        await there(talk, "done")
        talk.world.typed_at.clear()
        await talk.say("well")
        assert PLACE not in talk.world.typed_at
