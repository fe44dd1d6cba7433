"""Steps of a walked playbook that a model carries out with statements."""

from __future__ import annotations

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import agent, program, python, walked

pytestmark = pytest.mark.anyio

HELP = "02:QUE Help the user choose a wine"


def cellar(*before: str, code: str = "") -> Program:
    """A free step behind others, and a farewell."""
    main = walked("Main", *before, HELP, '03:QUE Say(user, "Cheers!")', "04:YLD for exit", begins=True)
    return program(agent("Cellar", main, *([python("Stock")] if code else []), code=code))


async def test_a_free_step_is_carried_out_with_statements_and_the_script_goes_on(sandbox: MontySandbox) -> None:
    model = Model(
        block('await Say("user", "Red or white?")', 'await Yld("user")'),
        block('await Say("user", "Riesling then.")'),
    )
    async with talking(cellar(), model, sandbox) as talk:
        assert await talk.say("hi") == ["Red or white?"]
        assert await talk.say("white") == ["Riesling then.", "Cheers!"]
        assert talk.facts("ended")
    assert "Carry out this one step of the script, and nothing before or behind it: Help the user" in model.told(0)
    assert "Message from Ada (user): white" in model.told(1)


async def test_plain_words_carry_out_a_free_step(sandbox: MontySandbox) -> None:
    async with talking(cellar(), Model(Reply("Take the Riesling.")), sandbox) as talk:
        assert await talk.say("hi") == ["Take the Riesling.", "Cheers!"]


async def test_a_free_step_knows_what_was_said_and_heard_before_it_in_that_order(sandbox: MontySandbox) -> None:
    before = ('01:QUE Say(user, "What do you eat?"); YLD for user',)
    model = Model(
        block('await Say("user", "Red or white?")', 'await Yld("user")'),
        block('await Say("user", "Riesling then.")'),
    )
    async with talking(cellar(*before), model, sandbox) as talk:
        assert await talk.say("hi") == ["What do you eat?"]
        assert await talk.say("fish") == ["Red or white?"]
        assert await talk.say("white") == ["Riesling then.", "Cheers!"]
    first = [(message.role, message.content) for message in model.asked[0][1:-1]]
    assert first == [("user", "hi"), ("assistant", "What do you eat?"), ("user", "fish")]
    assert "fish" not in model.told(0)
    second = [message.content for message in model.asked[1][1:-1]]
    assert second[:3] == ["hi", "What do you eat?", "fish"]
    assert 'await Say("user", "Red or white?")' in second[-1]
    assert "white" in model.told(1)


async def test_a_free_step_is_told_the_script_in_the_words_of_its_author(sandbox: MontySandbox) -> None:
    model = Model(block('await Say("user", "Riesling.")'))
    async with talking(cellar(), model, sandbox) as talk:
        await talk.say("hi")
    system = model.asked[0][0].content
    assert "### Script, for orientation\n- Help the user choose a wine\n" in system
    assert "02:QUE" not in system


async def test_a_failure_in_a_free_step_is_corrected_within_it(sandbox: MontySandbox) -> None:
    code = 'async def Stock():\n    raise ValueError("the cellar is locked")\n'
    model = Model(
        block("bottles = await Stock()"),
        block("# resume: 1", 'await Say("user", "I cannot get in.")'),
    )
    async with talking(cellar(code=code), model, sandbox) as talk:
        assert await talk.say("hi") == ["I cannot get in.", "Cheers!"]
    assert "ValueError: the cellar is locked" in model.told(1)


async def test_a_free_step_that_does_not_speak_of_an_end_ends_itself_and_not_the_program(sandbox: MontySandbox) -> None:
    model = Model(block('await Say("user", "Riesling.")', 'await Yld("exit")'))
    async with talking(cellar(), model, sandbox) as talk:
        assert await talk.say("hi") == ["Riesling.", "Cheers!"]


async def test_a_free_step_that_does_not_speak_of_an_end_may_not_call_for_it(sandbox: MontySandbox) -> None:
    model = Model(block("await EndProgram()"), block('await Say("user", "Riesling.")'))
    async with talking(cellar(), model, sandbox) as talk:
        assert await talk.say("hi") == ["Riesling.", "Cheers!"]
        assert [event.data["rule"] for event in talk.named("step.rejected")] == ["fence"]
    assert "this step does not end the program" in model.told(1)


@pytest.mark.parametrize("end", ['await Yld("exit")', "await EndProgram()"])
async def test_a_free_step_that_speaks_of_an_end_may_end_the_program(end: str, sandbox: MontySandbox) -> None:
    main = walked("Main", "01:QUE Help the user choose a wine, or end the conversation", "02:RET 1", begins=True)
    async with talking(program(agent("Cellar", main)), Model(block(end)), sandbox) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")


async def test_the_last_step_may_end_the_program(sandbox: MontySandbox) -> None:
    main = walked("Main", "01:QUE Help the user choose a wine", begins=True)
    async with talking(program(agent("Cellar", main)), Model(block('await Yld("exit")')), sandbox) as talk:
        await talk.say("hi")
        assert talk.facts("ended")
