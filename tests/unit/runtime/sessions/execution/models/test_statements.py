"""Statements of a model: those of free steps of walked playbooks, and what one may come to."""

import pytest

from runtime.core.plain_text import MAX_ERROR_CHARS
from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python, walked

HELP = "02:QUE Help the user choose a wine"


def cellar(*before: str, code: str = "") -> Program:
    """A free step behind others, and a farewell."""
    main = walked("Main", *before, HELP, '03:QUE Say(user, "Cheers!")', "04:YLD for exit", begins=True)
    return program(agent("Cellar", main, *([python("Stock")] if code else []), code=code))


async def test_a_free_step_is_carried_out_with_statements_and_the_script_goes_on() -> None:
    model = Model(
        block('await Say("user", "Red or white?")', 'await Yld("user")'),
        block('await Say("user", "Riesling then.")'),
    )
    async with talking(cellar(), model) as talk:
        assert await talk.say("hi") == ["Red or white?"]
        assert await talk.say("white") == ["Riesling then.", "Cheers!"]
        assert talk.facts("ended")
    assert "Carry out this one step of the script, and nothing before or behind it: Help the user" in model.told(0)
    assert "Message from Ada (user): white" in model.told(1)


async def test_plain_words_carry_out_a_free_step() -> None:
    assert await answered(cellar(), Model(Reply("Take the Riesling.")), "hi") == ["Take the Riesling.", "Cheers!"]


async def test_a_free_step_knows_what_was_said_and_heard_before_it_in_that_order() -> None:
    before = ('01:QUE Say(user, "What do you eat?"); YLD for user',)
    model = Model(
        block('await Say("user", "Red or white?")', 'await Yld("user")'),
        block('await Say("user", "Riesling then.")'),
    )
    async with talking(cellar(*before), model) as talk:
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


async def test_a_free_step_is_told_the_script_in_the_words_of_its_author() -> None:
    model = Model(block('await Say("user", "Riesling.")'))
    await answered(cellar(), model, "hi")
    system = model.asked[0][0].content
    assert "### Script, for orientation\n- Help the user choose a wine\n" in system
    assert "02:QUE" not in system


async def test_a_failure_in_a_free_step_is_corrected_within_it() -> None:
    code = 'async def Stock():\n    raise ValueError("the cellar is locked")\n'
    model = Model(
        block("bottles = await Stock()"),
        block("# resume: 1", 'await Say("user", "I cannot get in.")'),
    )
    assert await answered(cellar(code=code), model, "hi") == ["I cannot get in.", "Cheers!"]
    assert "ValueError: the cellar is locked" in model.told(1)


@pytest.mark.parametrize("kind", ["ValueError", "LLMUnavailable"])
async def test_a_free_step_fails_by_what_its_call_raises_too_often_though_it_be_named_like_a_models_error(
    kind: str,
) -> None:
    code = f'class LLMUnavailable(Exception): ...\n\nasync def Stock():\n    raise {kind}("the cellar is locked")\n'
    model = Model(
        *(block(*([f"# resume: {number}"] * (number > 0)), f"a{number} = await Stock()") for number in range(3))
    )
    gone = "⚠️ Stock failed: the cellar is locked. Your next message begins anew."
    assert await answered(cellar(code=code), model, "hi") == [gone]


async def test_a_free_step_that_does_not_speak_of_an_end_ends_itself_and_not_the_program() -> None:
    model = Model(block('await Say("user", "Riesling.")', 'await Yld("exit")'))
    assert await answered(cellar(), model, "hi") == ["Riesling.", "Cheers!"]


async def test_a_free_step_that_does_not_speak_of_an_end_may_not_call_for_it() -> None:
    model = Model(block("await EndProgram()"), block('await Say("user", "Riesling.")'))
    async with talking(cellar(), model) as talk:
        assert await talk.say("hi") == ["Riesling.", "Cheers!"]
        assert [event.data["rule"] for event in talk.named("step.rejected")] == ["fence"]
    assert "this step does not end the program" in model.told(1)


@pytest.mark.parametrize("end", ['await Yld("exit")', "await EndProgram()"])
async def test_a_free_step_that_speaks_of_an_end_may_end_the_program(end: str) -> None:
    main = walked("Main", "01:QUE Help the user choose a wine, or end the conversation", "02:RET 1", begins=True)
    async with talking(program(agent("Cellar", main)), Model(block(end))) as talk:
        assert await talk.say("hi") == []
        assert talk.facts("ended")


async def test_the_last_step_may_end_the_program() -> None:
    main = walked("Main", "01:QUE Help the user choose a wine", begins=True)
    async with talking(program(agent("Cellar", main)), Model(block('await Yld("exit")')), after="hi") as talk:
        assert talk.facts("ended")


async def test_the_text_of_an_exception_is_cut_before_the_tape_and_the_next_prompt() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    step, wait = 'await Step("Main:01:EXE")', 'await Yld("user")'
    model = Model(
        block(step, "raise ValueError('x' * 10_000_000)", wait), block("# resume: 2", 'await Say("user", "well")', wait)
    )
    async with talking(program(agent("Main", main)), model) as talk:
        assert await talk.say("hi") == ["well"]
        (failed,) = talk.facts("failed")
    assert "xxx" in model.told(1)
    assert len(str(failed)) < MAX_ERROR_CHARS + 200
    assert "x" * MAX_ERROR_CHARS not in model.told(1)


async def test_the_text_of_a_playbooks_exception_is_cut_for_its_caller_and_for_people() -> None:
    code = "async def Main():\n    await Fail()\nasync def Fail():\n    raise ValueError('x' * 10_000_000)\n"
    async with talking(program(agent("Main", MAIN, python("Fail"), code=code)), Model()) as talk:
        (said,) = await talk.say("hi")
        returns = talk.facts("ret")
    assert "xxx" in said
    assert len(said) < MAX_ERROR_CHARS + 200
    assert max(len(str(fact)) for fact in returns) < MAX_ERROR_CHARS + 500


async def test_one_statement_sends_so_many_messages_and_not_more() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    flood = 'for number in range(500):\n    await Say("user", f"message {number}")'
    model = Model(
        block('await Step("Main:01:EXE")', flood, 'await Yld("user")'), block("# resume: 2", 'await Yld("user")')
    )
    heard = await answered(program(agent("Main", main)), model, "hi")
    assert heard == [f"message {number}" for number in range(50)]
    assert "one statement sends at most 50 messages; this one was not sent" in model.told(1)


async def test_a_model_does_not_multiply_by_calling_its_own_playbook_many_times_at_once() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    wait = python("Wait", "number")
    code = "async def Wait(number):\n    await Say('user', f'{number} is here')\n    await WaitForMessage('Nobody')\n"
    many = "await asyncio.gather(*[Wait(number) for number in range(50)])"
    model = Model(block('await Step("Main:01:EXE")', many), block("# resume: 2", 'await Yld("user")'))
    async with talking(program(agent("Main", main, wait, code=code)), model, after="hi") as talk:
        begun = len(talk.facts("start"))
    assert begun == 1 + 20
    assert "20 playbooks are in progress here already, the limit of calls at once" in model.told(1)


async def test_variables_that_a_fact_cannot_take_are_the_models_mistake() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    step, wait = 'await Step("Main:01:EXE")', 'await Yld("user")'
    large = "one, two = 'x' * 16_500_000, 'y' * 16_500_000"
    model = Model(block(step, large, wait), block("# resume: 2", 'await Say("user", "well")', wait))
    assert await answered(program(agent("Main", main)), model, "hi") == ["well"]
    assert "cannot be kept: it is longer than 32,000,000 characters" in model.told(1)
