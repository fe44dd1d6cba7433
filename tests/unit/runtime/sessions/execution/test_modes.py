"""Playbooks without steps: one question to a model, or work towards conditions; and values in descriptions."""

from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.errors import NoModelSet
from runtime.language.program import Param, PlaybookSpec, Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, program, python, triggers

CODE = """
async def Fetch(city):
    await Var("fetched", city)
    return f"rain in {city}"
"""


def mode(name: str, how: str, description: str = "", **more: Any) -> PlaybookSpec:
    return PlaybookSpec(name, "llm", SPAN, description=description, metadata={"execution_mode": how}, **more)


def calling(*playbooks: PlaybookSpec) -> Program:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    return program(agent("Main", main, python("Fetch", "city"), *playbooks, code=CODE))


def going(*lines: str) -> Reply:
    return block('await Step("Main:01:EXE")', *lines, 'await Yld("user")')


JUDGE = mode("Judge", "raw", "Is {claim} true? Yes or no.", params=(Param("claim"),))


async def test_the_answer_to_a_raw_question_is_its_value_and_nothing_else_is_told() -> None:
    model = Model(going('x = await Judge("the sky is blue")', 'await Say("user", f"It says: {x}")'), Reply(" Yes.\n"))
    async with talking(calling(JUDGE), model) as talk:
        assert await talk.say("hi") == ["It says: Yes."]
        assert talk.named("llm.answered")
    system, question = model.asked[1]
    assert (system.content, question.content) == ("You are Main.", "Is the sky is blue true? Yes or no.")


async def test_arguments_that_a_raw_question_does_not_name_follow_it() -> None:
    sum_up = mode("SumUp", "raw", "Sum this up.", params=(Param("text"),), notes=("N1 In one word.",))
    model = Model(going('await Say("user", await SumUp("a long text"))'), Reply("short"))
    assert await answered(calling(sum_up), model, "hi") == ["short"]
    assert model.told(1) == 'Sum this up.\n\nN1 In one word.\n\ntext: "a long text"'


@pytest.mark.parametrize(
    ("returns", "answer", "shown"),
    [("int", " 42\n", "43"), ("list", "```json\n[1, 2]\n```", "[1, 2, 1]")],
)
async def test_a_raw_answer_is_of_the_declared_type_where_it_says_so(returns: str, answer: str, shown: str) -> None:
    guess = mode("Guess", "raw", "How many?", returns=returns)
    more = {"43": "x + 1", "[1, 2, 1]": "x + [1]"}[shown]
    model = Model(going("x = await Guess()", f"y = {more}", 'await Say("user", f"{y}")'), Reply(answer))
    assert await answered(calling(guess), model, "hi") == [shown]


@pytest.mark.parametrize(("returns", "answers"), [("int", ("about 40", "40")), ("list[int]", ("1, 2", "[1, 2]"))])
async def test_a_raw_answer_of_another_type_is_asked_for_again(returns: str, answers: tuple[str, str]) -> None:
    guess = mode("Guess", "raw", "How many?", returns=returns)
    model = Model(going("x = await Guess()", 'await Say("user", f"{x}")'), *map(Reply, answers))
    assert await answered(calling(guess), model, "hi") == [answers[1]]
    assert "Answer with the value alone." in model.told(2)


async def test_a_raw_answer_that_stays_of_another_type_fails_with_the_playbook_and_its_line() -> None:
    guess = mode("Guess", "raw", "How many?", returns="int")
    told = ["try:", "    await Guess()", "except Exception as error:", '    await Say("user", f"{error}")']
    model = Model(going("\n".join(told)), Reply("many"), Reply("many"))
    [said] = await answered(calling(guess), model, "hi")
    assert said == "PlaybookError: Guess (line 1) returns int, and the model answered 'many'"


async def test_a_raw_question_is_asked_again_when_the_model_was_away() -> None:
    model = Model(going('await Say("user", await Judge("it"))'), NoModelSet("No model."), Reply("No."))
    async with talking(calling(JUDGE), model) as talk:
        (told,) = await talk.say("hi")
        assert told.startswith("⚠️ I cannot continue: no language model is set up. Whoever runs me sets a key")
        assert await talk.say("and?") == ["No."]


async def test_react_returns_what_it_found() -> None:
    research = mode("Research", "react", "Find out about the weather.")
    model = Model(
        going('await Say("user", await Research())'),
        block('w = await Fetch("Oslo")', "await Return(w)"),
    )
    async with talking(calling(research), model) as talk:
        assert await talk.say("hi") == ["rain in Oslo"]
        assert talk.named("step.rejected") == []


async def test_react_goes_on_call_by_call_and_sees_what_they_gave() -> None:
    research = mode("Research", "react", "Find out about the weather.")
    model = Model(
        going('await Say("user", await Research())'),
        block("# think: two cities", 'await Fetch("Oslo")', 'await Yld("call")'),
        block('await Fetch("Rome")', 'await Yld("call")'),
        block('await Var("__", "looked")', 'await Return("both")'),
    )
    assert await answered(calling(research), model, "hi") == ["both"]
    assert 'Fetch gave "rain in Oslo"' in model.told(2)
    assert "# think: two cities" in model.asked[3][2].content


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        (
            [block(f"x = {number}", 'await Yld("call")') for number in range(51)],
            "for 50 turns without waiting for anybody",
        ),
        ([block('await Yld("call")')] * 5, "5 times without doing anything"),
    ],
    ids=["late", "early where its turns do nothing again and again"],
)
async def test_react_that_comes_to_no_end_fails_for_its_caller(rounds: list[Reply], told: str) -> None:
    model = Model(
        going("await Research()"), *rounds, block("# resume: 2", 'await Say("user", "no end")', 'await Yld("user")')
    )
    assert await answered(calling(mode("Research", "react")), model, "hi") == ["no end"]
    assert f"continued {told}" in model.told(len(rounds) + 1)


async def test_react_may_do_the_same_again_and_again() -> None:
    rounds = [block('await Fetch("Oslo")', 'await Yld("call")') for _ in range(8)]
    model = Model(going('await Say("user", await Research())'), *rounds, block('await Return("done")'))
    assert await answered(calling(mode("Research", "react")), model, "hi") == ["done"]


async def test_values_stand_in_a_description_and_are_found_once() -> None:
    told = replace(
        llm("Recount", "01:RET", params=("city",)),
        description='About {city.upper()}: {{Fetch("Oslo")}}; {$fetched}. As JSON {"a": 1}, {unknown}, {1 / 0}.',
    )
    model = Model(
        going('await Say("user", await Recount("Rome"))'),
        block('await Step("Recount:01:RET")', 'await Var("__", "told")', 'await Return("told")'),
    )
    assert await answered(calling(told), model, "hi") == ["told"]
    resolved = 'About ROME: rain in Oslo; Oslo. As JSON {"a": 1}, {unknown}, (not known: ZeroDivisionError'
    assert resolved in model.told(1)
    assert "{city.upper()}" in model.asked[1][0].content


async def test_a_model_hears_how_to_handle_messages_and_does_it_without_compilation() -> None:
    helper = replace(llm("Help", "01:RET"), triggers=triggers("EVT When the user asks for help"))
    model = Model(
        block(
            "# trig? Main:Help:T1:EVT",
            'await Trigger("Main:Help:T1:EVT")',
            "await Help()",
            'await Var("__", "helped")',
            "await Return()",
        ),
        block(
            'await Step("Help:01:RET")',
            'await Say("user", "Here I am.")',
            'await Var("__", "said so")',
            "await Return()",
        ),
    )
    async with talking(program(agent("Main", helper)), model) as talk:
        assert await talk.say("help!") == ["Here I am."]
        assert [event.data["trigger"] for event in talk.named("trigger.fired")] == ["Main:Help:T1:EVT"]
    assert "ProcessMessages is built in." in model.asked[0][0].content


async def test_steps_that_go_in_a_circle_end_and_say_so() -> None:
    loop = llm("Main", "01:LOP While true", "02:YLD for exit", begins=True)
    model = Model(*[block('await Step("Main:01:LOP")', 'await Yld("call")')] * 201)
    (said,) = await answered(program(agent("Main", loop)), model, "hi")
    assert "Main continued for 200 turns without waiting for anybody" in said
    assert len(model.asked) == 201
