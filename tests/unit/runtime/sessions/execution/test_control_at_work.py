"""Where control goes inside of one statement: known only while it runs."""

import pytest

from runtime.language.program import Program
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program


def errand(*lines: str) -> Program:
    return program(agent("Main", llm("Main", *lines, begins=True)))


async def test_a_loop_of_the_program_is_gone_through_by_one_statement() -> None:
    loop = errand("01:LOP For each $n in 1 and 2", "02:YLD for exit")
    rounds = 'for n in [1, 2]:\n    await Step(location="Main:01:LOP")\n    await Say("user", f"round {n}")'
    async with talking(loop, Model(block(rounds, 'await Step("Main:02:YLD")', 'await Yld("exit")'))) as talk:
        assert await talk.say("hi") == ["round 1", "round 2"]
        assert talk.facts("ended")


@pytest.mark.parametrize("end", ['Yld("exit")', "EndProgram()"])
async def test_the_program_ends_inside_of_a_statement(end: str) -> None:
    early = f'for n in range(3):\n    await Say("user", f"round {{n}}")\n    if n == 1:\n        await {end}'
    model = Model(block(early, 'await Say("user", "unseen")', 'await Yld("call")'))
    async with talking(errand("01:EXE Go"), model) as talk:
        assert await talk.say("hi") == ["round 0", "round 1"]
        assert talk.facts("ended")


async def test_a_step_that_says_so_ends_the_program_by_the_call() -> None:
    ends = errand("01:QUE EndProgram(); YLD for call", "02:QUE Say more")
    model = Model(block('await Step("Main:01:QUE")', "await EndProgram()", 'await Yld("call")'))
    async with talking(ends, model) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")
