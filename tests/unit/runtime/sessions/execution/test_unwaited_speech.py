"""A playbook that speaks again and again without ever waiting for anybody ends with an error; finite talk does not."""

import pytest

from runtime.execution.frames.frame import MAX_UNWAITED
from runtime.language.program import AgentSpec, Program
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from tests.fakes.people.talk import Model, answered, talking
from tests.unit.gateway.features.files.test_files import FilesAtHand
from tests.unit.runtime.execution.processor.walking import compiled
from tests.unit.runtime.sessions.meetings.test_meeting_life import guest, hosted, still
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

SPOKEN = f"has spoken {MAX_UNWAITED} times without waiting for anybody"


def alone(body: str, *more: AgentSpec) -> Program:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    helper = 'async def Tick():\n    await Say("user", "tick")\nasync def Rest():\n    await Sleep(1)\n'
    playbooks = MAIN, python("Tick"), python("Rest")
    return program(agent("Lead", *playbooks, code=f"async def Main():\n{lines}\n{helper}"), *more)


FOREVER = {
    "other words each time": 'number = 0\nwhile True:\n    number += 1\n    await Say("user", f"tick {number}")',
    "many at once": 'import asyncio\nwhile True:\n    await asyncio.gather(*[Say("user", "tick") for _ in range(100)])',
}


async def test_python_that_sends_files_for_ever_ends() -> None:
    body = 'while True:\n    await SendFile("a.txt", "tick")'
    heard = await answered(alone(body), Model(), "go", world=still()[0], files=FilesAtHand())
    assert SPOKEN in heard[-1]


@pytest.mark.parametrize("body", FOREVER.values(), ids=FOREVER)
async def test_python_that_speaks_for_ever_ends_and_names_its_line(body: str) -> None:
    heard = await answered(alone(body), Model(), "go", world=still()[0])
    assert len(heard) == MAX_UNWAITED + 1
    assert SPOKEN in heard[-1]
    assert "test.pb:" in heard[-1]


async def test_a_host_that_speaks_for_ever_in_its_meeting_ends_and_names_its_line() -> None:
    talks = hosted('while True:\n    await Say("meeting", "tick")', guest("Guest"), required_attendees=["Guest"])
    heard = await answered(talks, Model(), "go", world=still()[0])
    assert heard.count("tick") == MAX_UNWAITED
    assert SPOKEN in heard[-1]
    assert "test.pb:" in heard[-1]


async def test_steps_that_speak_in_a_loop_whose_condition_is_computed_end_too() -> None:
    steps = '- Set $n to 1\n- While $n is 1\n  - Say "tick" to the user\n'
    source = f"# Lead\n## Main\n### Triggers\n- At the beginning\n### Steps\n{steps}"
    heard = await answered(await compiled(source), Model(), "go", world=still()[0])
    assert len(heard) == MAX_UNWAITED + 1
    assert SPOKEN in heard[-1]


TICK = 'await Say("user", "tick")'
COUNTED = {
    "what is said to people": (f"{TICK}\n{TICK}", 2),
    "what another playbook says": ("await Tick()\nawait Tick()", 2),
    "a question that nobody has time to answer": ('await Ask("Who is there?", within_s=0)', 1),
    "the words around a wait of no time": (f"{TICK}\nawait Sleep(0)\n{TICK}", 2),
    "the words around a look at what has come": (f'{TICK}\nawait WaitForMessage("user", timeout_s=0)\n{TICK}', 2),
    "the words around work": (f"{TICK}\nself.state.n = 1\n{TICK}", 2),
    "not those before a wait": (f"{TICK}\nawait Sleep(1)\n{TICK}", 1),
    "not those before a wait of another playbook": (f"{TICK}\nawait Rest()\n{TICK}", 1),
    "not those before an answer": (f'{TICK}\nawait WaitForMessage("user", timeout_s=9)\n{TICK}', 1),
    "not those to another agent": ('await Say("Clerk", "job")', 0),
    "nothing where nobody is spoken to": ("self.state.n = 1", 0),
}


@pytest.mark.parametrize(("body", "spoken"), COUNTED.values(), ids=COUNTED)
async def test_what_is_said_counts_until_somebody_is_waited_for(body: str, spoken: int) -> None:
    clerk = agent("Clerk", python("Hear", trigger="BGN When"), code="async def Hear():\n    await Sleep(99)\n")
    world, clock = still()
    async with talking(alone(f"{body}\nawait Sleep(60)", clerk), Model(), world=world) as talk:
        talk.post("go")
        for _ in range(12):
            await clock.advance(1)
    state = SessionState()
    for fact in world.facts:
        apply_fact(state, fact)
    assert [frame.spoken for frame in state.frames.values() if frame.playbook == "Main"] == [spoken]


async def test_a_long_text_may_be_said_line_by_line() -> None:
    body = 'for number in range(250):\n    await Say("user", f"line {number}")'
    assert await answered(alone(body), Model(), "go", world=still()[0]) == [f"line {number}" for number in range(250)]
