"""Where control goes inside of one statement: known only while it runs, and held to the program all the same."""

from __future__ import annotations

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

pytestmark = pytest.mark.anyio


def errand(*lines: str) -> Program:
    return program(agent("Main", llm("Main", *lines, begins=True)))


TWO = errand("01:EXE Go", "02:QUE Say so", "03:YLD for exit")
END = ('await Step("Main:02:QUE")', 'await Step("Main:03:YLD")', 'await Yld("exit")')


def mended(done: int, *lines: str) -> Reply:
    return block(f"# resume: {done}", *lines)


async def test_a_step_is_not_repeated_by_a_loop_that_the_program_does_not_have(sandbox: MontySandbox) -> None:
    again = 'for n in range(3):\n    await Step("Main:01:EXE")\n    await Say("user", f"round {n}")'
    model = Model(block(again, *END), mended(1, *END))
    async with talking(TWO, model, sandbox) as talk:
        assert await talk.say("hi") == ["round 0"]
        assert talk.facts("ended")
    assert "'Main:01:EXE' may not follow step 01; legal next: Main:02:QUE" in model.told(1)


async def test_a_loop_of_the_program_is_gone_through_by_one_statement(sandbox: MontySandbox) -> None:
    loop = errand("01:LOP For each $n in 1 and 2", "02:YLD for exit")
    rounds = 'for n in [1, 2]:\n    await Step(location="Main:01:LOP")\n    await Say("user", f"round {n}")'
    async with talking(loop, Model(block(rounds, 'await Step("Main:02:YLD")', 'await Yld("exit")')), sandbox) as talk:
        assert await talk.say("hi") == ["round 1", "round 2"]
        assert talk.facts("ended")


@pytest.mark.parametrize("end", ['Yld("exit")', "Return(1)", "EndProgram()"])
async def test_nothing_is_left_before_the_steps_that_were_named_are_gone_through(
    end: str, sandbox: MontySandbox
) -> None:
    early = f'if False:\n    await Step("Main:02:QUE")\n    await Step("Main:03:YLD")\nelse:\n    await {end}'
    model = Model(block('await Step("Main:01:EXE")', 'await Var("__", "went")', early), mended(3, *END))
    async with talking(TWO, model, sandbox) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")
    assert f"{end.partition('(')[0]} skips steps that follow 01; legal next: Main:02:QUE" in model.told(1)


async def test_lenient_execution_lets_a_playbook_end_early_and_still_knows_its_steps(sandbox: MontySandbox) -> None:
    again = 'for n in [1, 2]:\n    await Step("Main:01:EXE")'
    early = 'if False:\n    await Step("Main:02:QUE")\nelse:\n    await Yld("exit")'
    model = Model(block(again, early), mended(1, early))
    async with talking(TWO, model, sandbox, strict=False) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")
    assert "may not follow step 01" in model.told(1)


async def test_a_step_that_says_so_ends_the_program_by_the_call(sandbox: MontySandbox) -> None:
    ends = errand("01:QUE EndProgram(); YLD for call", "02:QUE Say more")
    model = Model(block('await Step("Main:01:QUE")', "await EndProgram()", 'await Yld("call")'))
    async with talking(ends, model, sandbox) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")
