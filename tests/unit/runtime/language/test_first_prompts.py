"""What people are offered to begin with: what a program says, else what its triggers are about."""

from runtime.language.compiler import compile_parsed
from runtime.language.first_prompts import first_prompts
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import AgentSpec
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text


async def _agent(*triggers: str, head: str = "") -> AgentSpec:
    playbooks = "".join(
        f"## Playbook{number}\n### Triggers\n- {trigger}\n### Steps\n- Tell the user something\n"
        for number, trigger in enumerate(triggers)
    )
    parsed = parse(read_text(f"# Shop\n{head}\nSells cakes.\n{playbooks}", "shop.pb"))
    return (await compile_parsed(parsed, lowerer=RulesLowerer())).program.agents[0]


async def test_triggers_about_what_people_ask_are_offered_each_once_and_in_order() -> None:
    agent = await _agent(
        "When program starts",
        "When the user asks to book a flight",
        "When asked about pricing",
        "When the user asks for a human being.",
        "When the user wants to book a flight",
        "When $order is set",
    )
    assert first_prompts(agent) == ("Book a flight", "Pricing", "A human being")


async def test_the_programs_own_prompts_come_in_their_place() -> None:
    agent = await _agent("When the user asks to book a flight", head="prompts: What is open?\n")
    assert first_prompts(agent) == ("What is open?",)


async def test_a_program_whose_triggers_ask_nothing_offers_nothing() -> None:
    assert first_prompts(await _agent("When program starts")) == ()
