"""What one statement of a model may come to: so much text in its error, so many calls and messages."""

from __future__ import annotations

import pytest

from runtime.core.plain_text import MAX_ERROR_CHARS
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

pytestmark = pytest.mark.anyio


async def test_the_text_of_an_exception_is_cut_before_the_tape_and_the_next_prompt(sandbox: MontySandbox) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    step, wait = 'await Step("Main:01:EXE")', 'await Yld("user")'
    model = Model(
        block(step, "raise ValueError('x' * 10_000_000)", wait), block("# resume: 2", 'await Say("user", "well")', wait)
    )
    async with talking(program(agent("Main", main)), model, sandbox) as talk:
        assert await talk.say("hi") == ["well"]
        (failed,) = talk.facts("failed")
    assert "xxx" in model.told(1)
    assert len(str(failed)) < MAX_ERROR_CHARS + 200
    assert "x" * MAX_ERROR_CHARS not in model.told(1)


async def test_the_text_of_a_playbooks_exception_is_cut_for_its_caller_and_for_people(sandbox: MontySandbox) -> None:
    code = "async def Main():\n    await Fail()\nasync def Fail():\n    raise ValueError('x' * 10_000_000)\n"
    main = python("Main", trigger="BGN When program starts")
    async with talking(program(agent("Main", main, python("Fail"), code=code)), Model(), sandbox) as talk:
        (said,) = await talk.say("hi")
        returns = talk.facts("ret")
    assert "xxx" in said
    assert len(said) < MAX_ERROR_CHARS + 200
    assert max(len(str(fact)) for fact in returns) < MAX_ERROR_CHARS + 500


async def test_one_statement_sends_so_many_messages_and_not_more(sandbox: MontySandbox) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    flood = 'for number in range(500):\n    await Say("user", f"message {number}")'
    model = Model(
        block('await Step("Main:01:EXE")', flood, 'await Yld("user")'), block("# resume: 2", 'await Yld("user")')
    )
    async with talking(program(agent("Main", main)), model, sandbox) as talk:
        heard = await talk.say("hi")
    assert heard == [f"message {number}" for number in range(50)]
    assert "one statement sends at most 50 messages; this one was not sent" in model.told(1)


async def test_a_model_does_not_multiply_by_calling_its_own_playbook_many_times_at_once(sandbox: MontySandbox) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    wait = python("Wait", "number")
    code = "async def Wait(number):\n    await Say('user', f'{number} is here')\n    await WaitForMessage('Nobody')\n"
    many = "await asyncio.gather(*[Wait(number) for number in range(50)])"
    model = Model(block('await Step("Main:01:EXE")', many), block("# resume: 2", 'await Yld("user")'))
    async with talking(program(agent("Main", main, wait, code=code)), model, sandbox) as talk:
        await talk.say("hi")
        begun = len(talk.facts("start"))
    assert begun == 1 + 20
    assert "20 playbooks are in progress here already, the limit of calls at once" in model.told(1)


async def test_variables_that_a_fact_cannot_take_are_the_models_mistake(sandbox: MontySandbox) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    step, wait = 'await Step("Main:01:EXE")', 'await Yld("user")'
    large = "one, two = 'x' * 16_500_000, 'y' * 16_500_000"
    model = Model(block(step, large, wait), block("# resume: 2", 'await Say("user", "well")', wait))
    async with talking(program(agent("Main", main)), model, sandbox) as talk:
        assert await talk.say("hi") == ["well"]
    assert "cannot be kept: it is longer than 32,000,000 characters" in model.told(1)
