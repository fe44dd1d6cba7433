"""What people read while an agent works."""

from __future__ import annotations

import pytest

from runtime.core.texts import english
from runtime.execution.speech.doing import MAX_DOING_CHARS, doing_call, doing_step


@pytest.mark.parametrize(
    ("name", "doing"),
    [
        ("LookUpTaxCodes", "looking up tax codes"),
        ("GetForecast", "getting forecast"),
        ("ParseCSVFile2", "parsing CSV file 2"),
        ("Agree", "agreeing"),
        ("Accountant.GetRate", "asks Accountant"),
    ],
)
def test_a_call_is_told_in_words(name: str, doing: str) -> None:
    assert doing_call(name, english()) == doing


@pytest.mark.parametrize(
    ("text", "doing"),
    [
        ("Ask the user for the $name; YLD for user", "asking the user for the $name"),
        ("$order:dict = LookUpOrder(order_id=$order_id)", "looking up order"),
        ("Accountant.GetRate()", "asks Accountant"),
        ("", None),
        ("Write " + "a long letter " * 20, "writing " + ("a long letter " * 20)[: MAX_DOING_CHARS - 9] + "…"),
    ],
)
def test_a_step_is_told_as_it_is_done(text: str, doing: str | None) -> None:
    assert doing_step(text, english()) == doing
