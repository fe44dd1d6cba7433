"""*If so* and *If not*: one question, two outcomes, in all the words that they are said in."""

import pytest

from runtime.language.compiler import compile_parsed
from runtime.language.instructions.conditions.grammar import condition_grammar
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Step
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

ANSWERS = condition_grammar().classes["ANSWER"]
YES = [" ".join(words) for words, value in ANSWERS if value == "yes"]
NO = [" ".join(words) for words, value in ANSWERS if value == "no"]
PAIRS = [*zip(YES, NO, strict=False), *zip(NO, reversed(YES), strict=False)]


async def steps(*lines: str) -> tuple[Step, ...]:
    source = "# A\n\n## Main\n### Steps\n" + "".join(f"- {line}\n" for line in lines)
    result = await compile_parsed(parse(read_text(source, "program.pb")), lowerer=RulesLowerer())
    return result.program.agents[0].playbooks[0].steps


async def test_the_opposite_answer_behind_an_answer_is_the_other_side_of_one_question() -> None:
    for first, second in PAIRS:
        asked = await steps("Ask the user whether it rains", f'If {first}, say "a"', f'If {second}, say "b"')
        assert [step.text for step in asked[1:]] == [f"If {first}", "Otherwise"]


async def test_an_answer_to_a_question_with_a_truth_value_is_that_value() -> None:
    question = "Ask the user whether it rains, and set $rains:bool"
    for said in YES:
        assert (await steps(question, f'If {said}, say "a"'))[1].text == "If $rains"
    for said in NO:
        assert (await steps(question, f'If {said}, say "a"'))[1].text == "If not $rains"


@pytest.mark.parametrize("before", ['Say "Hello"', "Set $x to 3", "Go to step 1", "For each $x in $xs, say $x"])
async def test_an_answer_behind_what_asks_nothing_stays_free(before: str) -> None:
    for said in (*YES, *NO):
        assert [step.op for step in await steps(before, f'If {said}, say "a"')][1] == "EXE"
