"""How long a step waits, in words: a number and a unit of time are seconds, everything else is no length of time."""

import itertools

import pytest

from runtime.language.instructions.conditions.grammar import condition_grammar
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Call
from runtime.language.instructions.steps.course import course_of


def read_pause(text: str) -> str | None:
    """The seconds that a step waits; None for another step."""
    found = course_of(text)
    call = found.does if found is not None else None
    value = call.arguments[0].value if isinstance(call, Call) and call.name == "Sleep" else None
    return value.source if isinstance(value, Expression) else None


COUNTS = {
    "1": 1,
    "12": 12,
    "0.5": 0.5,
    "1,500": 1500,
    "one": 1,
    "ten": 10,
    "twenty": 20,
    "a dozen": 12,
    "a": 1,
    "half a": 0.5,
}
UNITS = {" ".join(words): int(seconds) for words, seconds in condition_grammar().classes["UNIT"]}


def test_each_count_of_each_unit_is_so_many_seconds() -> None:
    for (count, number), (unit, seconds), verb in itertools.product(
        COUNTS.items(), UNITS.items(), ("wait", "Wait for", "Pause for", "sleep")
    ):
        assert float(read_pause(f"{verb} {count} {unit}.") or "nan") == number * seconds, f"{verb} {count} {unit}"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Wait an hour and a half", "5400"),
        ("Wait two and a half hours", "9000"),
        ("Wait 1 hour and 30 minutes", "5400"),
        ("Wait 1 hour, 30 minutes", "5400"),
        ("Wait three quarters of an hour", "2700"),
        ("Wait $n minutes", "$n * 60"),
        ("Wait $n seconds", "$n"),
        ("Wait $plan.days days", "$plan.days * 86400"),
    ],
)
def test_lengths_add_up_and_may_be_in_variables(said: str, seconds: str) -> None:
    assert read_pause(said) == seconds


@pytest.mark.parametrize(
    "said",
    [
        *("Wait", "Wait a moment", "Wait a few minutes", "Wait about 5 minutes", "Wait 5", "Wait until 17:00"),
        *(
            "Wait for the user",
            "Wait for 5 minutes of silence",
            "Wait $n",
            "Wait minutes",
            "Tell them to wait 5 minutes",
        ),
        *("Wait 1.000 seconds", "Wait 5 minutes or 10 minutes"),
    ],
)
def test_what_is_no_length_of_time_is_none(said: str) -> None:
    assert read_pause(said) is None
