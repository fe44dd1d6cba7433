"""An agent that waits for another one is given with its answer, in order, what others said meanwhile."""

import anyio
from msgspec.structs import replace

from runtime.language.program import AgentSpec, Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, answered, block, talking
from tests.unit.runtime.sessions.crashes.programs.collecting import TALKER
from tests.unit.runtime.sessions.programs import agent, llm, program, python

TAX = """
async def Answer():
    while True:
        for message in await WaitForMessage("agent 1001"):
            await Say("agent 1000", "twenty percent")
            await Say("agent 1001", "done")
"""

ASKS = block(
    'await Step("Main:01:QUE")', 'await Say("Talker", "talk")', 'await Say("Tax", "rate?")', 'await Yld("Tax")'
)
ENDS = block('await Step("Main:02:QUE")', 'await Say("user", "It is 20 %.")', 'await Yld("exit")')


def office(talker: str = TALKER, tax: str = TAX) -> Program:
    main = llm(
        "Main", "01:QUE Ask Tax for the rate, and tell Talker to talk; YLD for Tax", "02:QUE Say it; YLD for exit"
    )
    begins = llm("Main", begins=True)
    host = agent("Host", replace(main, triggers=begins.triggers))
    return program(host, standby("Talker", "Talk", talker), standby("Tax", "Answer", tax))


def standby(name: str, playbook: str, code: str) -> AgentSpec:
    return agent(name, python(playbook, trigger="BGN When program starts"), code=code)


def heard(model: Model, index: int) -> list[str]:
    """The lines of the last message that a request has."""
    lines = model.told(index).splitlines()
    return [line for line in lines if any(word in line for word in ("first", "second", "twenty", "hurry"))]


async def test_what_others_say_wakes_nobody_and_comes_in_order_with_the_answer() -> None:
    model = Model(ASKS, ENDS)
    assert await answered(office(), model, "go") == ["It is 20 %."]
    assert len(model.asked) == 2
    told = heard(model, 1)
    assert [("first" in line, "second" in line, "twenty" in line) for line in told] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert "Talker (agent 1001)" in told[0]
    assert "Tax (agent 1002)" in told[2]


async def test_a_person_is_heard_at_once_after_what_was_said_before() -> None:
    again = block('await Step("Main:01:QUE")', 'await Yld("Tax")')
    model = Model(ASKS, again)
    silent = TAX.replace("twenty percent", "").replace('await Say("agent 1000", "")', "pass")
    async with talking(office(tax=silent), model) as talk:
        talk.post("go")
        await talk.until(lambda: len(model.asked) == 1)
        await said(talk, "second")
        assert len(model.asked) == 1
        talk.post("hurry up")
        await talk.until(lambda: len(model.asked) == 2)
        assert ["first" in line or "second" in line for line in heard(model, 1)] == [True, True, False]
        assert "hurry" in heard(model, 1)[2]


async def said(talk: Talk, text: str) -> None:
    """Return when the Host waits and has this on the tape, and everybody has had time to begin something by it."""
    await talk.until(lambda: bool(talk.facts("turn")))
    await talk.until(
        lambda: any(
            fact.kind == "in" and fact.data["message"]["text"] == text and fact.data["agent"] == "1000"
            for fact in talk.world.facts
        )
    )
    for _ in range(200):
        await anyio.lowlevel.checkpoint()


async def test_what_waits_for_the_answer_is_there_after_a_restart_in_the_same_order() -> None:
    world, model = World(()), Model(ASKS, ENDS)
    waits = TAX.replace('"agent 1001"', '"user"')
    async with talking(office(tax=waits), model, world=world) as talk:
        talk.post("go")
        await said(talk, "second")
        assert len(model.asked) == 1
    async with talking(office(tax=waits), model, world=world) as talk:
        assert await talk.say("tell them") == ["done", "It is 20 %."]
    assert [line.rpartition(" ")[2] for line in heard(model, 1)] == ["first", "second", "percent"]


async def test_who_waits_sets_no_alarm_however_many_they_are_and_ends_at_once(sandbox: MontySandbox) -> None:
    """Nothing is looked at every few seconds: while everybody waits, time passes without anybody waking."""
    world, clock = World(()), FakeClock()
    world.clock = clock  # type: ignore[assignment]
    quiet = "async def Wait():\n    await WaitForMessage('user')\n"
    sleeping = []
    for count in (1, 6):
        agents = [standby(f"Agent{number}", "Wait", quiet) for number in range(count)]
        async with talking(program(*agents), Model(), sandbox, world=world) as talk:
            talk.post("go")
            await talk.until(lambda count=count: len(talk.facts("wait")) >= count)  # type: ignore[misc]
            await clock.settle()
            sleeping.append(clock.sleeping)
            ended_at = clock.monotonic()
        assert clock.monotonic() == ended_at
        world = World(())
        world.clock = clock  # type: ignore[assignment]
    assert sleeping[0] == sleeping[1]
