"""What triggers start while something else is going on: it is left where it is, and goes on behind it."""

import anyio
import pytest
from msgspec.structs import replace

from runtime.language.program import PlaybookSpec, Program
from tests.fakes.crashes.world import TurboClock, World
from tests.fakes.people.talk import Model, Reply, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python, triggers

CODE = """
async def Main():
    await Say("user", "waiting")
    for message in await WaitForMessage("user"):
        await Say("user", f"{message['text']}, {variables.get('count', 0)} ticks")
    await EndProgram()

async def Tick():
    await Var("count", variables.get("count", 0) + 1)
    await Say("user", f"tick {variables['count']}")

async def Ship(what):
    await Say("user", f"shipping {what}")
    return what.upper()

async def Check():
    await Say("user", "checking first")

async def Note():
    await Say("user", "noted")

async def Fail():
    raise ValueError("no")
"""


def when(name: str, text: str, *params: str) -> PlaybookSpec:
    return python(name, *params, trigger=text)


TICKING = (when("Tick", "EVT Every minute"),)

SHIPPING = (
    python("Ship", "what"),
    when("Check", "EVT Before calling Ship"),
    when("Note", "EVT When Ship returns"),
    when("Fail", "EVT After calling Ship"),
)


def going(*lines: str) -> Reply:
    return block('await Step("Main:01:EXE")', *lines, 'await Yld("user")')


def led(*more: PlaybookSpec) -> Program:
    return program(agent("Main", llm("Main", "01:EXE Go; YLD for user", begins=True), *more, code=CODE))


async def test_playbooks_run_before_and_after_a_call_and_it_goes_on_with_its_value() -> None:
    model = Model(going('x = await Ship("tea")', 'await Say("user", f"sent {x}")'))
    async with talking(led(*SHIPPING), model) as talk:
        assert await talk.say("hi") == ["checking first", "shipping tea", "noted", "sent TEA"]
        assert [event.data["trigger"] for event in talk.named("trigger.fired")] == ["Check", "Note", "Fail"]
    assert "Main:Check:T1:EVT Before calling Ship (automatic)" in model.asked[0][0].content


async def test_what_a_trigger_starts_does_not_start_itself_again() -> None:
    code = 'async def Ship(what):\n    return what\n\nasync def Again():\n    await Say("user", await Ship("more"))\n'
    main = llm("Main", "01:EXE Go; YLD for user", begins=True)
    both = program(agent("Main", main, python("Ship", "what"), when("Again", "EVT After calling Ship"), code=code))
    assert await answered(both, Model(going('await Say("user", await Ship("one"))')), "hi") == ["more", "one"]


async def test_a_public_playbook_of_another_agent_is_started_too() -> None:
    auditor = agent(
        "Auditor",
        python("Audit", trigger="CND When $total > 100", public=True),
        python("Watch", trigger="EVT After calling Ship", public=True),
        python("Secret", trigger="CND When $total > 1"),
        code='async def Audit():\n    await Say("user", "I look into it")\n\n'
        'async def Watch():\n    await Say("user", "I saw it")\n\nasync def Secret():\n    await Say("user", "-")\n',
    )
    main = agent("Main", llm("Main", "01:EXE Go; YLD for user", begins=True), python("Ship", "what"), code=CODE)
    model = Model(going('await Var("total", 200)', 'await Ship("tea")'))
    async with talking(program(main, auditor), model) as talk:
        assert await talk.say("hi") == ["I look into it", "shipping tea", "I saw it"]
        assert talk.speakers == ["Auditor", "Main", "Auditor"]


async def test_a_model_judges_the_trigger_of_another_agents_public_playbook() -> None:
    main = agent("Main", llm("Main", "01:EXE Go; YLD for user", begins=True))
    audit = python("Audit", "what", trigger="EVT When the user complains", public=True)
    code = 'async def Audit(what):\n    await Say("user", f"I look into {what}")\n'
    model = Model(
        block(
            'await Trigger("Auditor:Audit:T1:EVT")',
            'await Auditor.Audit("the tea")',
            'await Yld("user")',
        ),
    )
    async with talking(program(main, agent("Auditor", audit, code=code)), model) as talk:
        assert await talk.say("the tea is cold") == ["I look into the tea"]
        assert [event.data["trigger"] for event in talk.named("trigger.fired")] == ["Auditor:Audit:T1:EVT"]
    assert "Auditor:Audit:T1:EVT When the user complains" in model.asked[0][0].content


class HeldClock(TurboClock):
    """Time that passes by itself only so far."""

    def __init__(self) -> None:
        super().__init__()
        self._limit_s = 30.0
        self._moved = anyio.Event()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        while monotonic_s > self._limit_s:
            await self._moved.wait()
        await super().sleep_until(monotonic_s)

    def let_pass(self, seconds: float) -> None:
        """Let so much more time pass."""
        self._limit_s += seconds
        moved, self._moved = self._moved, anyio.Event()
        moved.set()


async def seen(talk: Talk, said: str, text: str) -> None:
    """Say something, if anything is to be said, and return when the last that can be seen is `text`."""
    if said:
        talk.post(said)
    await talk.until(lambda: talk.chat[-1:] == [text])


def held() -> tuple[World, HeldClock]:
    world, clock = World(()), HeldClock()
    world.clock = clock
    return world, clock


async def test_a_time_comes_while_a_playbook_waits_which_goes_on_waiting() -> None:
    world, clock = held()
    async with talking(program(agent("Main", MAIN, *TICKING, code=CODE)), Model(), world=world) as talk:
        await seen(talk, "hi", "waiting")
        for ticks in range(1, 4):
            clock.let_pass(60)
            await seen(talk, "", f"tick {ticks}")
        await seen(talk, "enough", "enough, 3 ticks")


@pytest.mark.parametrize("busy", [True, False])
async def test_a_time_comes_for_an_idle_agent_and_for_a_model_that_waits(busy: bool) -> None:
    tick = replace(llm("Tick", "01:EXE Count"), triggers=triggers("EVT cron: 5 0 * * *"))
    ticked = ('await Say("user", "good morning")', 'await Var("__", "x")', "await Return()")
    main = llm("Main", "01:EXE Go; YLD for user" if busy else "01:RET", begins=True)
    here = 'await Say("user", "here I am")'
    start = going(here) if busy else block('await Step("Main:01:RET")', here, 'await Var("__", "x")', "await Return()")
    model = Model(start, block('await Step("Tick:01:EXE")', *ticked), going('await Say("user", "and so on")'))
    world, clock = held()
    async with talking(program(agent("Main", main, tick)), model, world=world) as talk:
        await seen(talk, "hi", "here I am")
        clock.let_pass(5 * 60)
        await seen(talk, "", "good morning")
        if busy:
            await seen(talk, "well?", "and so on")
    assert "You execute Tick as Main" in model.told(1)


async def test_times_that_nobody_saw_to_come_once() -> None:
    gate = anyio.Event()
    slow = Reply(going('await Say("user", "done")').text, gate=gate)
    world, clock = held()
    async with talking(led(*TICKING), Model(slow, going('await Say("user", "and so on")')), world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: len(talk.facts("remind")) == 1)
        for times in range(2, 5):
            clock.let_pass(60)
            await talk.until(lambda: len(talk.facts("remind")) == times)  # noqa: B023 - awaited at once
        gate.set()
        await seen(talk, "", "tick 1")
        await seen(talk, "well?", "and so on")
        assert talk.chat == ["done", "tick 1", "and so on"]


LISTENING = """
async def Main():
    await Say("user", "here")

async def Reply(text):
    await Say("user", f"you said {text}")

async def Echo(text):
    await Say("user", f"Helper said {text}")

async def Tell():
    await Say("Main", "all is done")
"""


async def test_a_message_begins_the_playbook_that_waits_for_such_without_a_model() -> None:
    main = agent(
        "Main",
        llm("Other", "01:RET"),
        MAIN,
        when("Reply", "EVT When a message arrives from the user", "text"),
        when("Echo", "EVT Whenever a message from Helper comes", "text"),
        code=LISTENING,
    )
    helper = agent("Helper", when("Tell", "EVT When any message arrives"), code=LISTENING)
    helper = replace(helper, metadata={"startup_mode": "standby"})
    async with talking(program(main, helper), Model()) as talk:
        assert await talk.say("hi") == ["here"]
        assert await talk.say("one") == ["you said one"]
        assert await talk.say("@helper go") == ["Helper said all is done"]
