"""What was executed, printed in the notation of traces from the facts of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.tape.step_listing import stretches
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.programs import agent, llm
from tests.unit.runtime.sessions.programs import program as program_of

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[4] / "examples"


def _printed(talk: Talk) -> str:
    return "\n\n".join(f"{one.agent_class}.{one.playbook}\n{one.text}" for one in stretches(talk.world.facts))


async def _program(directory: Path, text: str) -> Program:
    file = directory / "shop.pb"
    file.write_text(text)
    return (await compile_program([file], lowerer=RulesLowerer())).program


ORDER = """\
OrderHelper.Main
recap: Main begins.
plan: Main:01:QUE
`Step["Main:01:QUE"]` `Say("Welcome! I can look up orders.")`
trig? no
`Step["Main:02:EXE"]`
`Var[$wants_more, true]`
trig? no
`Step["Main:03:CND"]`
trig? no
`Step["Main:03.01:QUE"]` `Say("What is your order number?")`
trig? no
yld user

OrderHelper.Main
recap: Ada said: "It is 43345678."
plan: Main:03.01:QUE
`Var[$order_id, "43345678"]`
trig? no
`Step["Main:03.02:QUE"]` `$order = LookUpOrder(order_id="43345678")`
`Var[$order, {"status": "shipped", "arrives": "2 August"}]`
trig? no
`Step["Main:03.03:CND"]`
trig? no
`Step["Main:03.04:CND"]`
trig? no
`Step["Main:03.04.01:QUE"]` `Say("It has been shipped and arrives on 2 August.")`
trig? no
`Step["Main:03.05:QUE"]` `Say("Do you have another order?")`
trig? no
yld user

OrderHelper.Main
recap: Ada said: "No, thanks."
plan: Main:03.05:QUE
`Var[$wants_more, false]`
trig? no
`Step["Main:03.06:JMP"]`
trig? no
`Step["Main:03:CND"]`
trig? no
`Step["Main:04:QUE"]` `Say("Goodbye!")`
trig? no
`Step["Main:05:YLD"]`
trig? no
yld exit
"""


async def test_a_talk_about_an_order_is_listed_step_by_step(sandbox: MontySandbox) -> None:
    program = (await compile_program([EXAMPLES / "order_helper.pb"], lowerer=RulesLowerer())).program
    model = Model(
        Reply("[1] Welcome! I can look up orders.\n[2] What is your order number?"),
        Reply('{"does": "answer", "order_id": "43345678"}'),
        Reply("[1] It has been shipped and arrives on 2 August.\n[2] Do you have another order?"),
        Reply('[1] {"does": "answer", "wants_more": false}\n[4] Goodbye!'),
    )
    async with talking(program, model, sandbox) as talk:
        for text in ("hi", "It is 43345678.", "No, thanks."):
            await talk.say(text)
        assert _printed(talk) == ORDER.rstrip("\n")


SHOP = """\
# Shop
You sell bread.

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for their $count:int
- For each $part in ["bread", "milk"]
  - Say "There is {part} in it."
- Set $price to $count * 3
- Ask the user for their $street:str
- $greeting = Greet("Ada")
- Say "{greeting}! {price} to {street}."
- End program

## Greet($who)
### Steps
- Think about $who
- Return "Hello, " + $who

## Warn
### Triggers
- When $price is greater than 10
### Steps
- Say "That is much."

## Hours
### Triggers
- When the user asks for the opening hours
### Steps
- Say "From 9 to 5."
"""


SOLD = """\
Shop.Main
recap: Main begins.
plan: Main:01:QUE
`Step["Main:01:QUE"]` `Say("How many?")`
trig? no
yld user

Shop.Main
recap: Ada said: "Five, please."
plan: Main:01:QUE
`Var[$count, 5]`
trig? no
`Step["Main:02:CND"]`
`Var[$part, "bread"]`
trig? no
`Step["Main:02.01:QUE"]` `Say("There is bread in it.")`
trig? no
`Step["Main:02.02:JMP"]`
trig? no
`Step["Main:02:CND"]`
`Var[$part, "milk"]`
trig? no
`Step["Main:02.01:QUE"]` `Say("There is milk in it.")`
trig? no
`Step["Main:02.02:JMP"]`
trig? no
`Step["Main:02:CND"]`
trig? no
`Step["Main:03:EXE"]`
`Var[$price, 15]`
trig? `Trigger["Warn"]`
yld call

Shop.Warn
recap: The trigger of Warn holds.
plan: Warn:01:QUE
`Step["Warn:01:QUE"]` `Say("That is much.")` `Return[]` `Var[$__, "Shop: “That is much.”"]`
yld return

Shop.Main
recap: Warn returned.
plan: Main:04:QUE
`Step["Main:04:QUE"]` `Say("Where to?")`
trig? no
yld user

Shop.Main
recap: Ada said: "When are you open?"
plan: Main:04:QUE
trig? `Trigger["Hours"]`
yld call

Shop.Hours
recap: The trigger of Hours holds.
plan: Hours:01:QUE
`Step["Hours:01:QUE"]` `Say("From 9 to 5.")` `Return[]` `Var[$__, "Shop: “From 9 to 5.”"]`
yld return

Shop.Main
recap: Hours returned.
plan: Main:04:QUE
`Say("So, where to?")`
yld user

Shop.Main
recap: Ada said: "No, two."
plan: Main:04:QUE
what? correct
`Var[$count, 2]`
trig? no
`Step["Main:03:EXE"]`
`Var[$price, 6]`
trig? no
`Step["Main:04:QUE"]` `Say("And where to?")`
trig? no
yld user

Shop.Main
recap: Ada said: "Nice day."
plan: Main:04:QUE
what? other
`Say("It is! Where to?")`
yld user

Shop.Main
recap: Ada said: "Main Street"
plan: Main:04:QUE
`Var[$street, "Main Street"]`
trig? no
`Step["Main:05:QUE"]` `$greeting = Greet(who="Ada")`
trig? no
yld call

Shop.Greet
recap: Main calls Greet(who="Ada").
plan: Greet:01:TNK
`Step["Greet:01:TNK"]`
trig? no
`Step["Greet:02:RET"]` `Return["Hello, Ada"]`
yld return

Shop.Main
recap: Greet returned "Hello, Ada".
plan: Main:05:QUE
`Var[$greeting, "Hello, Ada"]`
trig? no
`Step["Main:06:QUE"]` `Say("Hello, Ada! 6 to Main Street.")`
trig? no
`Step["Main:07:YLD"]`
trig? no
yld exit
"""


async def test_loops_triggers_and_corrections_are_listed(tmp_path: Path, sandbox: MontySandbox) -> None:
    model = Model(
        Reply("How many?"),
        Reply('{"does": "answer", "count": 5}'),
        Reply("Where to?"),
        Reply('{"does": "Hours"}'),
        Reply("So, where to?"),
        Reply('{"does": "correct", "count": 2}'),
        Reply("And where to?"),
        Reply('[1] {"does": "other"}\n[2] It is! Where to?'),
        Reply('{"does": "answer", "street": "Main Street"}'),
        Reply("Ada is a friend."),
    )
    program = await _program(tmp_path, SHOP)
    async with talking(program, model, sandbox) as talk:
        for text in ("hi", "Five, please.", "When are you open?", "No, two.", "Nice day.", "Main Street"):
            await talk.say(text)
        assert _printed(talk) == SOLD.rstrip("\n")


async def test_statements_of_a_react_playbook_are_listed_by_what_they_did(sandbox: MontySandbox) -> None:
    chat = program_of(agent("Main", llm("Main", "01:QUE Greet the user", begins=True)))
    model = Model(
        block('await Step("Main:01:QUE")', 'await Var("name", "Ada")', 'await Say("user", name)', 'await Yld("user")')
    )
    async with talking(chat, model, sandbox) as talk:
        await talk.say("hi")
        (only,) = stretches(talk.world.facts)
        assert only.lines == [
            '`Step["Main:01:QUE"]`',
            '`Var[$name, "Ada"]`',
            '`Say("Ada")`',
            "trig? no",
            "yld user",
        ]
