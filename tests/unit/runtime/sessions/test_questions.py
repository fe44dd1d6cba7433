"""Questions with choices: asked once, answered by a press or in words, by whom they are for."""

from __future__ import annotations

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.talk import Model, Talk, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

pytestmark = pytest.mark.anyio


def approval(arguments: str = '"Ship it?", ["Yes", "No"]', before: str = "pass") -> Program:
    code = f"""
async def Main():
    {before}
    answer = await Ask({arguments})
    await Say("user", f"answer: {{answer}}")
    await WaitForMessage("user")
"""
    return program(agent("Main", python("Main", trigger="BGN When program starts"), code=code))


def choice(talk: Talk, index: int) -> str:
    return talk.world.offered[-1].choices[index].id


async def test_a_question_offers_its_choices_and_a_press_answers_it(sandbox: MontySandbox) -> None:
    async with talking(approval(), Model(), sandbox) as talk:
        assert await talk.say("go") == ["Ship it?"]
        (offered,) = talk.world.offered
        assert [c.label for c in offered.choices] == ["Yes", "No"]
        assert all(c.id.isascii() and len(c.id) <= 60 for c in offered.choices)
        assert await talk.say("No", kind="choice", choice=choice(talk, 1)) == ["answer: No"]
        (settled,) = talk.world.settled
        assert (settled.id, settled.parts, settled.choices) == (offered.id, {0: "0"}, ())


@pytest.mark.parametrize(
    ("words", "answer"), [("2", "No"), ("1.", "Yes"), ("yes", "Yes"), ("NO ", "No"), ("3", "3"), ("not yet", "not yet")]
)
async def test_words_answer_too_by_number_by_label_or_as_they_are(
    words: str, answer: str, sandbox: MontySandbox
) -> None:
    async with talking(approval(), Model(), sandbox) as talk:
        await talk.say("go")
        assert await talk.say(words) == [f"answer: {answer}"]
        assert len(talk.world.settled) == 1


async def test_the_first_answer_wins_and_later_or_unknown_presses_are_told_so(sandbox: MontySandbox) -> None:
    closed = "That question is no longer open."
    async with talking(approval(), Model(), sandbox) as talk:
        await talk.say("go")
        first = choice(talk, 0)
        talk.post("Yes", kind="choice", choice=first)
        assert sorted(await talk.say("No", kind="choice", choice=choice(talk, 1))) == [closed, "answer: Yes"]
        assert await talk.say("Yes", kind="choice", choice=first) == [closed]
        assert await talk.say("x", kind="choice", choice="nonsense") == [closed]
        assert await talk.say("x", kind="choice", choice=first.rpartition(".")[0] + ".9") == [closed]


async def test_a_question_for_one_person_takes_only_their_answer(sandbox: MontySandbox) -> None:
    ada = '"Ship it?", ["Yes", "No"], of="Ada"'
    async with talking(approval(ada), Model(), sandbox) as talk:
        await talk.say("go")
        refused = ["This question is for Ada."]
        assert await talk.say("No", kind="choice", choice=choice(talk, 1), name="Bo") == refused
        assert await talk.say("no", name="Bo") == refused
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == ["answer: Yes"]


async def test_a_question_for_somebody_who_is_not_here_fails_with_who_is(sandbox: MontySandbox) -> None:
    async with talking(approval('"Ship it?", ["Yes"], of="Zoe"'), Model(), sandbox) as talk:
        (said,) = await talk.say("go")
    assert "nobody called 'Zoe' is here; here are Ada" in said


@pytest.mark.parametrize("options", ["[]", "['a', 'a']", "['']", "'Yes'", "['x' * 201]"])
async def test_options_that_cannot_be_offered_are_refused(options: str, sandbox: MontySandbox) -> None:
    async with talking(approval(f'"Well?", {options}'), Model(), sandbox) as talk:
        (said,) = await talk.say("go")
    assert "option" in said
    assert not talk.world.offered


async def test_a_question_without_options_offers_room_for_a_free_answer(sandbox: MontySandbox) -> None:
    async with talking(approval('"What is it about?"'), Model(), sandbox) as talk:
        assert await talk.say("go") == ["What is it about?"]
        (offered,) = talk.world.offered
        assert [(c.label, c.free) for c in offered.choices] == [("", True)]
        press = offered.choices[0].id
        assert await talk.say("", kind="choice", choice=press) == ["That question is no longer open."]
    async with talking(approval('"What is it about?"'), Model(), sandbox, world=talk.world) as later:
        assert await later.say("1. Tax\n2. Law") == ["answer: 1. Tax\n2. Law"]
        assert [c.free for c in later.world.settled[-1].choices] == [True]


async def test_a_question_survives_a_restart_and_is_not_asked_again(sandbox: MontySandbox) -> None:
    async with talking(approval(), Model(), sandbox) as talk:
        await talk.say("go")
        press = choice(talk, 0)
    async with talking(approval(), Model(), sandbox, world=talk.world) as later:
        assert await later.say("Yes", kind="choice", choice=press) == ["answer: Yes"]
    assert later.chat == ["Ship it?", "answer: Yes"]


async def test_a_stop_takes_the_choices_away(sandbox: MontySandbox) -> None:
    async with talking(approval(), Model(), sandbox) as talk:
        await talk.say("go")
        press = choice(talk, 0)
        await talk.say("", kind="stop")
        assert len(talk.world.settled) == 1
        assert await talk.say("Yes", kind="choice", choice=press) == ["That question is no longer open."]


async def test_a_press_is_for_the_question_and_not_for_who_waits_for_messages(sandbox: MontySandbox) -> None:
    code = """
import asyncio

async def Main():
    answer, messages = await asyncio.gather(Ask("Ship it?", ["Yes", "No"]), WaitForMessage("agent 1000"))
    await Say("user", f"{answer}, {messages[0]['text']}")
"""
    both = program(agent("Main", python("Main", trigger="BGN When program starts"), code=code))
    async with talking(both, Model(), sandbox) as talk:
        await talk.say("go")
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == []
        assert await talk.say("and so on") == ["Yes, and so on"]


async def test_a_model_asks_in_a_condition(sandbox: MontySandbox) -> None:
    main = program(agent("Main", llm("Main", "01:QUE Ask", "02:YLD for user", begins=True)))
    asking = block(
        'await Step("Main:01:QUE")',
        'if Ask("Ship it?", ["Yes", "No"]) == "Yes":\n    await Say("user", "Shipped.")',
        'await Step("Main:02:YLD")',
        'await Yld("user")',
    )
    async with talking(main, Model(asking), sandbox) as talk:
        assert await talk.say("go") == ["Ship it?"]
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == ["Shipped."]


async def test_a_press_without_a_session_is_told_so(sandbox: MontySandbox) -> None:
    async with talking(approval(), Model(), sandbox) as talk:
        talk.post("Yes", kind="choice", choice="0.1.0")
        await talk.rested()
        assert talk.chat == ["That question is no longer open."]
