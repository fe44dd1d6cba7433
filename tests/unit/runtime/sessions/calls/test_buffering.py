"""When agents in a meeting hear what is said there: whole sessions on a clock that stands still until it is moved."""

import anyio
from msgspec.structs import replace

from runtime.language.program import Program
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

HOST = """
async def Main():
    await Talk()

async def Talk():
    while True:
        for message in await WaitForMessage("user"):
            for line in message["text"].split("|"):
                await Say("meeting", line)
"""

JOINS = block('await Step("Join:01:QUE")', 'await Yld("meeting")')
AGAIN = block('await Step("Join:01:QUE")', 'await Yld("meeting")')


class Hall:
    """A host that says in a meeting what it is told, and a Poet on the model that waits for the meeting."""

    def __init__(self, replies: int) -> None:
        self.world = World(())
        self.clock = FakeClock()
        self.world.clock = self.clock  # type: ignore[assignment]
        self.model = Model(JOINS, *[AGAIN] * replies)

    @property
    def program(self) -> Program:
        talks = python("Talk", meeting=True, required_attendees=["Poet"])
        host = agent("Host", MAIN, talks, code=HOST)
        joins = llm("Join", "01:QUE Listen; YLD for meeting", "02:RET")
        return program(host, agent("Poet", replace(joins, metadata={"meeting": True})))

    async def begin(self, talk: Talk) -> None:
        """Return when the Poet is in the meeting, and waits for what is said."""
        talk.post("go")
        await self.asked(1)

    async def asked(self, times: int) -> None:
        """Return when the model was asked so often and its last turn has ended."""
        while len(self.model.asked) < times or len(self._ends()) < times:
            await self.settle()

    def _ends(self) -> list[object]:
        return [fact for fact in self.world.facts if fact.kind == "turn"]

    async def settle(self) -> None:
        for _ in range(20):
            await self.clock.settle()
            await anyio.lowlevel.checkpoint()

    async def hears(self, talk: Talk, *lines: str) -> None:
        """The host says something; return when it has."""
        said = len(self.heard())
        talk.post("|".join(lines))
        while len(self.heard()) < said + len(lines):
            await self.settle()

    def heard(self) -> list[str]:
        """What was said to the Poet in the meeting, read or not."""
        told = [fact.data for fact in self.world.facts if fact.kind == "in" and fact.data["agent"] == "1001"]
        return [data["message"]["text"] for data in told if data["message"]["type"] == "meeting_broadcast"]

    def told(self, request: int) -> list[str]:
        """What was said in the meeting as a request of the model has it."""
        lines = self.model.told(request).splitlines()
        return [line.rpartition(": ")[2] for line in lines if "in meeting 100" in line and "Notice" not in line]


async def test_agents_hear_each_other_together_five_seconds_after_the_first() -> None:
    hall = Hall(3)
    async with talking(hall.program, hall.model, world=hall.world) as talk:
        await hall.begin(talk)
        await hall.hears(talk, "one")
        await hall.clock.advance(3)
        await hall.hears(talk, "two", "three")
        await hall.clock.advance(1.9)
        await hall.settle()
        assert len(hall.model.asked) == 1
        await hall.clock.advance(0.1)
        await hall.asked(2)
        assert hall.told(1) == ["one", "two", "three"]


async def test_who_is_named_hears_within_half_a_second_also_what_waited_before() -> None:
    hall = Hall(3)
    async with talking(hall.program, hall.model, world=hall.world) as talk:
        await hall.begin(talk)
        await hall.hears(talk, "one", "Poet, what do you say?")
        await hall.clock.advance(0.4)
        await hall.settle()
        assert len(hall.model.asked) == 1
        await hall.clock.advance(0.1)
        await hall.asked(2)
        assert hall.told(1) == ["one", "Poet, what do you say?"]


async def test_what_waited_in_the_middle_of_its_time_is_there_after_a_restart_and_in_order() -> None:
    hall = Hall(3)
    async with talking(hall.program, hall.model, world=hall.world) as talk:
        await hall.begin(talk)
        await hall.hears(talk, "one", "two")
        await hall.clock.advance(2)
        assert len(hall.model.asked) == 1
    async with talking(hall.program, hall.model, world=hall.world) as talk:
        await hall.asked(2)
        await hall.hears(talk, "three")
        await hall.clock.advance(5)
        await hall.asked(3)
        assert [hall.told(1), hall.told(2)] == [["one", "two"], ["three"]]


async def test_while_all_wait_in_a_meeting_time_passes_and_nobody_looks() -> None:
    hall = Hall(1)
    async with talking(hall.program, hall.model, world=hall.world, idle_s=1e9) as talk:
        await hall.begin(talk)
        await hall.settle()
        facts = len(hall.world.facts)
        await hall.clock.advance(3600)
        await hall.settle()
        assert (len(hall.world.facts), hall.clock.sleeping, len(hall.model.asked)) == (facts, 0, 1)
        ended_at = hall.clock.monotonic()
    assert hall.clock.monotonic() == ended_at


POET = """
async def Join():
    batches = []
    while True:
        messages = await WaitForMessage("meeting")
        batches.append([m["text"] for m in messages if m["type"] == "meeting_broadcast"])
        await Var("batches", batches)
"""


async def test_python_is_given_together_what_agents_say_within_the_same_times() -> None:
    hall = Hall(0)
    (host, _) = hall.program.agents
    both = program(host, agent("Poet", python("Join", meeting=True), code=POET))

    def batches() -> list[list[str]]:
        facts = [fact.data for fact in hall.world.facts if fact.kind == "res" and fact.data["name"] == "Var"]
        return [batch for batch in facts[-1]["set"]["batches"] if batch] if facts else []

    async with talking(both, hall.model, world=hall.world) as talk:
        talk.post("go")
        while not talk.facts("meeting_active"):
            await hall.settle()
        await hall.hears(talk, "one", "two")
        await hall.clock.advance(4.9)
        await hall.hears(talk, "three")
        await hall.settle()
        assert batches() == []
        await hall.clock.advance(0.1)
        await hall.settle()
        assert batches() == [["one", "two", "three"]]
        await hall.hears(talk, "four", "five, Poet")
        await hall.clock.advance(0.5)
        await hall.settle()
        assert batches() == [["one", "two", "three"], ["four", "five, Poet"]]
