"""Explaining instructions: who does what, in words."""

import pytest

from runtime.authoring.explain import explain
from runtime.language.diagnostics import Span
from runtime.language.instructions.decode import decode
from runtime.language.program import OpCode, Step

SPAN = Span("test.pb", 1)


def _explained(line: str) -> list[str]:
    step = Step("01", OpCode(line[:3]), line[4:], SPAN, _below(line))
    return [f"{part.kind}: {part.text}" for part in explain(decode(step), {"Ship": ["street", "count"]})]


def _below(line: str) -> tuple[Step, ...]:
    return (Step("01.01", OpCode.QUE, "Say(user, hello)", SPAN),) if line[:3] in ("CND", "LOP") else ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('QUE Say(user, Say "Hello, {name}!")', ['alone: Say "Hello, {name}!" to the user.']),
        ("QUE Say(user, Greet the user)", ["words: A message to the user: Greet the user"]),
        (
            "QUE Say(user, Ask for the $n:int); YLD for user; done when the user gave $n",
            [
                "words: A message to the user: Ask for the $n:int",
                "alone: Wait for the user until $n is given.",
                "value: The answer: $n:int.",
            ],
        ),
        (
            "QUE Say(user, Ask how it went); YLD for user; done when the user has answered",
            [
                "words: A message to the user: Ask how it went",
                "alone: Wait for the user.",
                "alone: Take the next message as the answer.",
            ],
        ),
        ("EXE $n = $m + 1", ["alone: Set $n to $m + 1."]),
        ("EXE $n += 2", ["alone: Add 2 to $n."]),
        ("EXE $n -= $m", ["alone: Take $m from $n."]),
        ("EXE $n *= 2", ["alone: Set $n to $n * 2."]),
        ("EXE Extract the $town:str from $text", ["value: $town:str: Extract the $town:str from $text"]),
        (
            "QUE $ok = Ship(street=$street, count=1)",
            ["alone: Call Ship(street=$street, count=1). Set $ok to the result."],
        ),
        (
            "QUE Ship(street=the way to the harbour)",
            [
                "value: The argument street: the way to the harbour",
                "value: The argument count, unless $count is set.",
                "alone: Call Ship(street=…).",
            ],
        ),
        ("CND If $n > 5", ["alone: Execute the steps below if $n is more than 5."]),
        ("CND If they are angry", ["choice: Yes or no: they are angry"]),
        ("CND Otherwise", ["alone: Execute the steps below when no condition before held."]),
        ("LOP While $n is less than 3", ["alone: Repeat the steps below while $n is less than 3."]),
        ("LOP Until they agree", ["choice: Yes or no before each round (until): they agree"]),
        ("LOP For each $x in $list", ["alone: Execute the steps below for each $x in $list."]),
        ("JMP 03", ["alone: Go to 03."]),
        ("TNK Think about the weather", ["words: A thought that nobody else sees: Think about the weather"]),
        ("RET $n", ["alone: Return $n."]),
        ("RET the best of the offers", ["value: The result: the best of the offers"]),
        ("YLD for user", ["alone: Wait for the user."]),
        ("YLD for exit", ["alone: End the program."]),
        ("QUE Ponder; and dance", ["free: Carry out with statements: Ponder; and dance"]),
    ],
)
def test_a_step_is_explained_by_what_it_does(line: str, expected: list[str]) -> None:
    assert _explained(line) == expected


def test_a_free_step_says_why_it_is_free() -> None:
    (part,) = explain(decode(Step("01", OpCode.QUE, "Ponder; and dance", SPAN)))
    assert part.why == "it has several clauses, one of which is prose"
