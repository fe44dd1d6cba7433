"""What people read while an agent works."""

import pytest

from runtime.core.texts import english
from runtime.execution.prompt.step_words import MAX_SHOWN_CHARS, shown_call, shown_step
from tests.unit.runtime.sessions.programs import steps


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("LookUpOrder", "Look up order"),
        ("LookUpTaxCodes", "Look up tax codes"),
        ("ShipOrder", "Ship order"),
        ("ParseCSVFile2", "Parse CSV file 2"),
        ("CSVToTable", "CSV to table"),
        ("get_forecast", "Get forecast"),
        ("ÄndereÜbung", "Ändere übung"),
        ("Agree", "Agree"),
        ("X", "X"),
        ("Accountant.GetRate", "asks Accountant"),
    ],
)
def test_a_call_is_told_by_the_words_of_its_playbook(name: str, shown: str) -> None:
    assert shown_call(name, english()) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("01:QUE Ask the user for the $name; YLD for user", "Ask the user for the $name"),
        ("01:QUE Say(user, Ask for the $name); YLD for user; done when the name is given", "Ask for the $name"),
        ("01:QUE $order:dict = LookUpOrder(order_id=$order_id)", "Look up order"),
        ("01:QUE Accountant.GetRate()", "asks Accountant"),
        ("01:TNK Weigh what speaks for each wine", "Weigh what speaks for each wine"),
        ("01:YLD for user", None),
        ("01:JMP 02", None),
        ("01:QUE Write " + "a long letter " * 20, ("Write " + "a long letter " * 20)[: MAX_SHOWN_CHARS - 1] + "…"),
    ],
)
def test_a_step_is_told_in_the_words_of_its_program(line: str, shown: str | None) -> None:
    (step,) = steps(line)
    assert shown_step(step, english()) == shown
