"""What was executed, printed in English from the facts of real runs."""

from pathlib import Path

from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.tape.step_listing import stretches
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.programs import agent, llm
from tests.unit.runtime.sessions.programs import program as program_of

EXAMPLES = Path(__file__).parents[4] / "examples"


def _printed(talk: Talk) -> str:
    return "\n\n".join(f"{one.agent_class}.{one.playbook}\n{one.text}" for one in stretches(talk.world.facts))


async def _program(directory: Path, text: str) -> Program:
    file = directory / "shop.pb"
    file.write_text(text)
    return (await compile_program([file], lowerer=RulesLowerer())).program


ORDER = """\
OrderHelper.Main
Main begins.
step 01: says "Welcome! I can look up orders."
step 02
$wants_more is true
step 03
step 03.01: says "What is your order number?"
waits for the user

OrderHelper.Main
Ada said: "It is 43345678."
$order_id is "43345678"
step 03.02: $order = LookUpOrder(order_id="43345678")
$order is {"status": "shipped", "arrives": "2 August"}
step 03.03
step 03.04
step 03.04.01: says "It has been shipped and arrives on 2 August."
step 03.05: says "Do you have another order?"
waits for the user

OrderHelper.Main
Ada said: "No, thanks."
$wants_more is false
step 03.06
step 03
step 04: says "Goodbye!"
step 05
ends
"""


async def test_a_talk_about_an_order_is_listed_step_by_step() -> None:
    program = (await compile_program([EXAMPLES / "order_helper.pb"], lowerer=RulesLowerer())).program
    model = Model(
        Reply("[1] Welcome! I can look up orders.\n[2] What is your order number?"),
        Reply('{"does": "answer", "order_id": "43345678"}'),
        Reply("[1] It has been shipped and arrives on 2 August.\n[2] Do you have another order?"),
        Reply('[1] {"does": "answer", "wants_more": false}\n[4] Goodbye!'),
    )
    async with talking(program, model) as talk:
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
Main begins.
step 01: says "How many?"
waits for the user

Shop.Main
Ada said: "Five, please."
$count is 5
step 02
$part is "bread"
step 02.01: says "There is bread in it."
step 02.02
step 02
$part is "milk"
step 02.01: says "There is milk in it."
step 02.02
step 02
step 03
$price is 15
the trigger Warn holds
Warn goes on

Shop.Warn
The trigger of Warn holds.
step 01: says "That is much."; returns; $__ is "Shop: “That is much.”"
goes back to its caller

Shop.Main
Warn returned.
step 04: says "Where to?"
waits for the user

Shop.Main
Ada said: "When are you open?"
the trigger Hours holds
Hours goes on

Shop.Hours
The trigger of Hours holds.
step 01: says "From 9 to 5."; returns; $__ is "Shop: “From 9 to 5.”"
goes back to its caller

Shop.Main
Hours returned.
says "So, where to?"
waits for the user

Shop.Main
Ada said: "No, two."
instead of an answer: correct
$count is 2
step 03
$price is 6
step 04: says "And where to?"
waits for the user

Shop.Main
Ada said: "Nice day."
instead of an answer: other
says "It is! Where to?"
waits for the user

Shop.Main
Ada said: "Main Street"
$street is "Main Street"
step 05: $greeting = Greet(who="Ada")
Greet goes on

Shop.Greet
Main calls Greet(who="Ada").
step 01
step 02: returns "Hello, Ada"
goes back to its caller

Shop.Main
Greet returned "Hello, Ada".
$greeting is "Hello, Ada"
step 06: says "Hello, Ada! 6 to Main Street."
step 07
ends
"""


async def test_loops_triggers_and_corrections_are_listed(tmp_path: Path) -> None:
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
    async with talking(program, model) as talk:
        for text in ("hi", "Five, please.", "When are you open?", "No, two.", "Nice day.", "Main Street"):
            await talk.say(text)
        assert _printed(talk) == SOLD.rstrip("\n")


async def test_statements_of_a_react_playbook_are_listed_by_what_they_did() -> None:
    chat = program_of(agent("Main", llm("Main", "01:QUE Greet the user", begins=True)))
    model = Model(
        block('await Step("Main:01:QUE")', 'await Var("name", "Ada")', 'await Say("user", name)', 'await Yld("user")')
    )
    async with talking(chat, model, after="hi") as talk:
        (only,) = stretches(talk.world.facts)
        assert only.lines == [
            "step 01",
            '$name is "Ada"',
            'says "Ada"',
            "waits for the user",
        ]
