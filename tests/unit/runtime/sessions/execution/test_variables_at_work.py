"""Variables that are set in other ways than by name: their types and triggers count all the same."""

import pytest
from msgspec.structs import replace

from runtime.language.program import Param, Program
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

CODE = """
async def Alarm():
    await Say("user", f"so much: {variables['amount']}")

async def Fill(text):
    await SaveArtifact("amount", "what it costs", text)

async def Ask12():
    return await Pay("12")
"""

PAID = ('await Step("Pay:01:EXE")', 'await Say("user", f"paid {amount + 1}")')
RETURNED = ('await Step("Pay:02:RET")', 'await Var("__", "paid")', "await Return(amount)")


def shop() -> Program:
    pay = replace(llm("Pay", "01:EXE Pay", "02:RET $amount"), params=(Param("amount", state=True, type="int"),))
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    alarm = python("Alarm", trigger="CND When $amount > 100")
    return program(agent("Main", main, pay, alarm, python("Fill", "text"), python("Ask12"), code=CODE))


def going(*lines: str) -> Model:
    first = block('await Step("Main:01:EXE")', *lines, 'await Yld("user")')
    return Model(first, block(*PAID, *RETURNED), block("# resume: 2", 'await Yld("user")'))


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        ("await Pay(200)", ["so much: 200", "paid 201"]),
        ('await Pay("12")', ["paid 13"]),
        ("await Ask12()", ["paid 13"]),
        ("await Pay(amount=100)", ["paid 101"]),
    ],
)
async def test_a_parameter_that_is_a_variable_has_its_type_and_starts_what_waits_for_it(
    call: str, seen: list[str]
) -> None:
    assert await answered(shop(), going(call), "hi") == seen


async def test_an_argument_that_does_not_fit_its_type_is_an_error_of_the_call() -> None:
    wrong = block('await Step("Main:01:EXE")', 'await Pay("lots")')
    model = Model(wrong, block("# resume: 2", 'await Yld("user")'))
    assert await answered(shop(), model, "hi") == []
    assert "Pay takes amount as int, not 'lots'" in model.told(1)


async def test_a_type_with_a_choice_is_held_to() -> None:
    main = llm("Main", "01:EXE Set $age:int | None; YLD for user unless told to end", begins=True)
    good = ('await Step("Main:01:EXE")', "age = None", 'age = "41"', 'await Say("user", f"{age + 1}")')
    model = Model(block(*good, "age = str(age) + '?'"), block("# resume: 5", 'await Yld("user")'))
    assert await answered(program(agent("Main", main)), model, "hi") == ["42"]
    assert "$age is declared int | None; '41?' is str" in model.told(1)


async def test_an_artifact_has_the_type_of_its_variable_and_starts_what_waits_for_it() -> None:
    model = going('await SaveArtifact("amount", "what it costs", "300")', 'await Say("user", f"kept {amount}")')
    async with talking(shop(), model) as talk:
        assert await talk.say("hi") == ["so much: 300", "kept 300"]
    wrong = block('await Step("Main:01:EXE")', 'await Fill("many")')
    model = Model(wrong, block("# resume: 2", 'await Yld("user")'))
    async with talking(shop(), model) as talk:
        assert await talk.say("hi") == []
    assert "$amount is declared int; 'many' is str" in model.told(1)


async def test_a_playbook_that_is_called_like_its_agent_can_be_called_by_both_names() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    code = "async def Weather(city):\n    return city.upper()\n\nasync def Wind(city):\n    return 7\n"
    both = python("Weather", "city", public=True), python("Wind", "city", public=True)
    calls = ('a = await Weather("Oslo")', 'b = await Weather.Wind("Oslo")', 'await Say("user", f"{a} {b}")')
    model = Model(block('await Step("Main:01:EXE")', *calls, 'await Yld("user")'))
    assert await answered(program(agent("Weather", main, *both, code=code)), model, "hi") == ["OSLO 7"]


async def test_a_made_agent_has_variables_of_their_types() -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    player = agent(
        "Player",
        llm("Play", "01:EXE Play with $lives:int"),
        python("Lives", public=True),
        code="async def Lives():\n    return variables['lives'] + 1\n",
    )
    first = block(
        'await Step("Main:01:EXE")',
        'one = await CreateAgent("Player", lives="3")',
        'await Say("user", f"{await CallAgent(one, \'Lives\')}")',
        'await CreateAgent("Player", lives="many")',
    )
    model = Model(first, block("# resume: 4", 'await Yld("user")'))
    async with talking(program(agent("Main", main), player), model) as talk:
        assert await talk.say("hi") == ["4"]
        assert len(talk.facts("agent")) == 2
    assert "$lives of Player is declared int; 'many' is str" in model.told(1)
