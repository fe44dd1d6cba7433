"""What a meeting costs grows with those in it, and not with their square."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from runtime.execution.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox
from tests.fakes.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, program, python
from tests.unit.runtime.sessions.test_meeting_life import MAIN

pytestmark = pytest.mark.anyio

HOST = """
async def Main():
    agents = [await CreateAgent("Guest") for _ in range(COUNT)]
    await Talk(attendees=agents)
    await Say("user", "done")

async def Talk():
    await Say("meeting", "news")
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
"""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": FrameLoop}


class Calls:
    """Counts the calls of our own functions, in which nothing of the machine's speed is."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _about: Any) -> None:
        if event == "call" and "/runtime/" in frame.f_code.co_filename:
            self.count += 1


async def calls_of(count: int) -> int:
    """How many functions are called from the first word until so many agents have met."""
    host = agent("Host", MAIN, python("Talk", meeting=True), code=f"COUNT = {count}\n{HOST}")
    hall = program(host, agent("Guest", python("Join", meeting=True), code=GUEST))
    async with MontySandbox(max_workers=1) as sandbox, talking(hall, Model(), sandbox) as talk:
        calls = Calls()
        sys.setprofile(calls)
        try:
            assert (await talk.say("go"))[-1] == "done"
        finally:
            sys.setprofile(None)
    return calls.count


async def test_the_work_for_each_agent_is_the_same_in_a_large_meeting() -> None:
    few, many = await calls_of(20), await calls_of(160)
    assert many / 160 < 1.2 * few / 20
