"""Which calls in prose the runtime makes before it asks a model."""

import pytest

from runtime.authoring.explain import explain
from runtime.language.diagnostics import Span
from runtime.language.instructions.decode import decode
from runtime.language.instructions.lookups import calls_before, lookups, named_in
from runtime.language.instructions.uses import calls, reads
from runtime.language.program import OpCode, Step


def step(op: OpCode, text: str) -> Step:
    below = (Step("01.01", OpCode.EXE, "Set $n to 1", Span("test.pb", 1)),) if op is OpCode.CND else ()
    return Step("01", op, text, Span("test.pb", 1), below)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("Tell the user what GetWeather($city) says", ["GetWeather($city)"]),
        ("Tell the user the result of GetWeather($city)", ["GetWeather($city)"]),
        ("Greet them and say that GetWeather($city) gives the weather", ["GetWeather($city)"]),
        ("Tell the user that it is {GetWeather($city)}", ["GetWeather($city)"]),
        ('Tell the user "It is {GetWeather($city)}", kindly', ["GetWeather($city)"]),
        ("Tell what Desk.Price(Item(1)) returns and what Count() says", ["Desk.Price(Item(1))", "Count()"]),
        ("Tell the user that Refund($order) was made", []),
        ("Explain that Refund($order) is for managers", []),
        ("Tell the user what GetWeather($city) says if they want to know", []),
        ("Do not tell what GetWeather($city) says", []),
        ('Say that "GetWeather($city)" is how it is called', []),
        ("Tell the user what GetWeather(the city) says", []),
        ("Tell the user what $it.GetWeather(1) says", []),
        ("Tell the user what GetWeather($city says", []),
    ],
)
def test_words_have_those_calls_made_whose_results_they_are_about(words: str, made: list[str]) -> None:
    assert [one.call.source for one in named_in(words)] == made


def test_the_place_of_a_call_in_braces_is_that_of_the_braces() -> None:
    text = "It is { GetWeather($city) } today"
    [found] = lookups(text)
    assert (text[found.start : found.end], found.braced) == ("{ GetWeather($city) }", True)


@pytest.mark.parametrize(
    ("op", "text", "made"),
    [
        (OpCode.CND, "If GetWeather($city) is nice", ["GetWeather($city)"]),
        (OpCode.CND, "While GetStatus($order) is not final", ["GetStatus($order)"]),
        (OpCode.EXE, "Compute $w:str as a summary of GetWeather($city)", ["GetWeather($city)"]),
        (OpCode.EXE, "Compute $w:str from GetWeather($city), or guess it", []),
        (OpCode.RET, "a poem about GetWeather($city)", ["GetWeather($city)"]),
        (OpCode.TNK, "Think about what GetWeather($city) says", ["GetWeather($city)"]),
        (OpCode.EXE, "Fiddle with GetWeather($city)", []),
    ],
)
def test_conditions_and_values_have_their_calls_made_and_free_steps_have_not(
    op: OpCode, text: str, made: list[str]
) -> None:
    instruction = decode(step(op, text))
    assert [call.source for part in instruction.parts for call in calls_before(part)] == made
    assert calls(instruction) == {name.partition("(")[0] for name in made}
    assert reads(instruction) == ({made[0].partition("$")[2].rstrip(")")} if made else set())
    told = [part.text for part in explain(instruction) if part.kind == "alone"]
    assert [line for line in told if line.startswith("Call ")] == [f"Call {name}." for name in made]
