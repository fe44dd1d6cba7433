"""What a meeting costs grows with those in it, and not with their square."""

from runtime.sandbox.monty import MontySandbox
from tests.fakes.observing.calls import counted
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import GUEST, MAIN, agent, program, python

HOST = """
async def Main():
    agents = [await CreateAgent("Guest") for _ in range(COUNT)]
    await Talk(attendees=agents)
    await Say("user", "done")

async def Talk():
    await Say("meeting", "news")
"""


async def calls_of(count: int) -> int:
    """How many functions are called from the first word until so many agents have met."""
    host = agent("Host", MAIN, python("Talk", meeting=True), code=f"COUNT = {count}\n{HOST}")
    hall = program(host, agent("Guest", python("Join", meeting=True), code=GUEST))
    async with MontySandbox(max_workers=1) as sandbox, talking(hall, Model(), sandbox) as talk:
        with counted() as calls:
            assert (await talk.say("go"))[-1] == "done"
    return calls.count


async def test_the_work_for_each_agent_is_the_same_in_a_large_meeting() -> None:
    few, many = await calls_of(80), await calls_of(320)  # with fewer no snapshot is written
    assert many / 320 < 1.15 * few / 80
