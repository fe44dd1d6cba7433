"""Playbooks in Python are held to their annotations, and their exceptions are caught as the code says."""

import ast

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, answered, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, compiled, program, python


async def said(code: str, sandbox: MontySandbox) -> list[str]:
    """What a conversation shows whose agent has this Python, and whose Main begins."""
    begins = code.replace("async def Main", '@playbook(triggers=["When program starts"])\nasync def Main', 1)
    text = f"# Shop\n\n```python\n{begins}\n```\n"
    async with talking(await compiled(text), Model(), sandbox) as talk:
        return await talk.say("go")


def calling(signature: str, call: str, body: str = "return repr(amount)") -> str:
    """Main calls a playbook of this signature and says what it gave, or how it failed."""
    return f"""
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum

class Size(Enum):
    SMALL = "s"
    LARGE = "l"

async def Main():
    try:
        text = str(await {call})
    except PlaybookError as error:
        text = f"failed: {{error}}"
    await Say("user", text)
    await EndProgram()

@playbook
async def Pay{signature}:
    {body}
"""


@pytest.mark.parametrize(
    ("signature", "call", "seen"),
    [
        ("(amount: int)", "Pay(3)", "3"),
        ("(amount: int)", 'Pay("12")', "12"),
        ("(amount: int)", 'Pay("lots")', "failed: Pay takes amount as int, not 'lots'"),
        ("(amount: int)", "Pay(True)", "failed: Pay takes amount as int, not True"),
        ("(amount: int)", 'Pay(amount="lots")', "failed: Pay takes amount as int, not 'lots'"),
        ("(amount: float)", "Pay(3)", "3.0"),
        ("(amount: str)", "Pay(12345)", "'12345'"),
        ("(amount: int | None = None)", "Pay()", "None"),
        ("(amount: list[int])", "Pay((1, 2))", "[1, 2]"),
        ("(amount: list[int])", 'Pay(["a"])', "failed: Pay takes amount as list[int], not ['a']"),
        ('(amount: "int")', 'Pay("lots")', "failed: Pay takes amount as 'int', not 'lots'"),
        ("(amount)", 'Pay("lots")', "'lots'"),
        ('(amount: "Money")', 'Pay("lots")', "'lots'"),
        ("(amount: list[object])", 'Pay([1, "a"])', "[1, 'a']"),
        ("(amount: int)", "Pay()", "failed: Pay needs 'amount'"),
        ("(amount: date)", 'Pay("2026-05-01")', "datetime.date(2026, 5, 1)"),
        ("(amount: date)", "Pay(date(2026, 5, 1))", "datetime.date(2026, 5, 1)"),
        ("(amount: date)", 'Pay("tomorrow")', "failed: Pay takes amount as a date such as 2026-05-01, not 'tomorrow'"),
        ("(amount: date)", "Pay(3)", "failed: Pay takes amount as a date such as 2026-05-01, not 3"),
        ("(amount: date | None = None)", "Pay()", "None"),
        ("(amount: date = date(2026, 5, 1))", "Pay()", "datetime.date(2026, 5, 1)"),
        ('(amount: "datetime")', 'Pay("2026-05-01T09:30")', "datetime.datetime(2026, 5, 1, 9, 30)"),
        ("(amount: time)", 'Pay("09:30")', "datetime.time(9, 30)"),
        ("(amount: Decimal)", 'Pay("12.50")', "Decimal('12.50')"),
        ("(amount: Decimal)", "Pay(12.5)", "Decimal('12.5')"),
        ("(amount: Decimal)", 'Pay("NaN")', "failed: Pay takes amount as a number such as 12.50, not 'NaN'"),
        ("(amount: list[date])", 'Pay(["2026-05-01"])', "[datetime.date(2026, 5, 1)]"),
        (
            "(amount: list[date])",
            'Pay(["soon"])',
            "failed: Pay takes amount as a list with a date such as 2026-05-01 in each place, not ['soon']",
        ),
        ("(amount: Size)", 'Pay("l")', "<Size.LARGE: 'l'>"),
        ("(amount: Size)", 'Pay("large")', "<Size.LARGE: 'l'>"),
        ("(amount: Size)", 'Pay("huge")', "failed: Pay takes amount as one of s, l, not 'huge'"),
        ("(amount: date | str)", 'Pay("tomorrow")', "'tomorrow'"),
    ],
)
async def test_an_argument_is_what_its_annotation_says(
    signature: str, call: str, seen: str, sandbox: MontySandbox
) -> None:
    assert await said(calling(signature, call), sandbox) == [seen]


@pytest.mark.parametrize(
    ("returns", "value", "seen"),
    [
        ("-> int", "3", "3"),
        ("-> int", '"3"', "3"),
        ("-> int", '"many"', "failed: Pay returns int, not 'many'"),
        ("-> int", "None", "None"),
        ("-> list[str]", '("a", "b")', "['a', 'b']"),
        ("-> tuple[int, str]", '(1, "b")', "[1, 'b']"),
        ("-> dict[str, int]", '{"a": "b"}', "failed: Pay returns dict[str, int], not {'a': 'b'}"),
        ('-> "Money"', '"many"', "many"),
        ("", '"many"', "many"),
        ("-> None", "1", "failed: Pay returns None, not 1"),
        ("-> date", "date(2026, 5, 1)", "2026-05-01"),
        ("-> list[Decimal]", '[Decimal("1.10")]', "['1.10']"),
        ("", "Size.LARGE", "l"),
    ],
)
async def test_a_result_is_what_its_annotation_says(returns: str, value: str, seen: str, sandbox: MontySandbox) -> None:
    assert await said(calling(f"() {returns}", "Pay()", f"return {value}"), sandbox) == [seen]


async def test_a_plain_function_is_held_to_its_result_as_well(sandbox: MontySandbox) -> None:
    code = calling("()", "Count()") + '@playbook\ndef Count() -> int:\n    return "many"\n'
    assert await said(code, sandbox) == ["failed: Count returns int, not 'many'"]


@pytest.mark.parametrize(
    ("annotation", "value"), [("List", '["a"]'), ("Dict", '{"a": 1}'), ("[int]", "[3]"), ("named", '"a"')]
)
async def test_an_annotation_that_names_no_type_within_holds_a_value_to_none(
    annotation: str, value: str, sandbox: MontySandbox
) -> None:
    code = 'from typing import Dict, List\nnamed = "named"\n' + calling(f"(amount: {annotation})", f"Pay({value})")
    assert await said(code, sandbox) == [repr(ast.literal_eval(value))]


async def test_a_default_may_be_an_expression_of_the_fence(sandbox: MontySandbox) -> None:
    code = "MOST = 7\n" + calling("(amount: int = MOST * 2)", "Pay()")
    assert await said(code, sandbox) == ["14"]


async def test_an_endless_playbook_begins_again_with_arguments_of_their_types(sandbox: MontySandbox) -> None:
    body = "return Again('lots') if amount == 1 else amount"
    code = calling("(amount: int) -> int", "Pay(1)", body)
    assert await said(code, sandbox) == ["failed: Pay takes amount as int, not 'lots'"]


async def test_a_long_argument_is_shortened_in_its_error(sandbox: MontySandbox) -> None:
    (text,) = await said(calling("(amount: int)", 'Pay("x" * 5000)'), sandbox)
    assert len(text) < 200
    assert text.endswith("…")


@pytest.mark.parametrize(
    ("trigger", "error"),
    [
        ("When the user asks", "Main takes orders as list, not 'go'"),
        ("When program starts", "Main needs 'orders'"),
    ],
)
async def test_what_begins_a_playbook_and_does_not_fit_it_is_told_to_people_each_time(trigger: str, error: str) -> None:
    code = f'@playbook(triggers=["{trigger}"])\nasync def Main(orders: list): ...'
    async with talking(await compiled(f"# Shop\n\n```python\n{code}\n```\n"), Model()) as talk:
        for _ in range(2):
            (text,) = await talk.say("go")
            assert text.startswith(f"⚠️ Main failed: {error}.")
        assert not talk.named("session.failed")


CODE = """
class OutOfStock(Exception):
    def __init__(self, item, left):
        super().__init__(f"{{left}} of {{item}} left")
        self.item = item

    def __str__(self):
        return f"no {{self.item}}"

async def Fetch(item):
    {raises}

async def Main():
    try:
        await Fetch("tea")
    except {caught} as error:
        await Say("user", f"caught {{error}}")
    await WaitForMessage("user")
"""

CASES = {
    "1 / 0": ("ZeroDivisionError", "caught division by zero"),
    "raise FileNotFoundError(2, 'No such file', 'a.txt')": (
        "OSError",
        "caught [Errno 2] No such file: 'a.txt'",
    ),
    "[][1]": ("IndexError", "caught list index out of range"),
    "raise OutOfStock(item, 0)": ("OutOfStock", "caught no tea"),
    "raise UnicodeDecodeError('utf-8', b'x', 0, 1, 'bad')": (
        "PlaybookError",
        "caught 'utf-8' codec can't decode byte 0x78 in position 0: bad",
    ),
    "raise StopIteration('over')": ("RuntimeError", "caught coroutine raised StopIteration"),
    "raise ArithmeticError('odd')": ("PlaybookError", "caught odd"),
}


@pytest.mark.parametrize("raises", CASES)
async def test_an_exception_is_caught_by_its_type_and_as_a_failed_playbook(raises: str) -> None:
    caught, said = CASES[raises]
    code = CODE.format(raises=raises, caught=caught)
    shop = program(agent("Shop", MAIN, python("Fetch", "item"), code=code))
    assert await answered(shop, Model(), "hi") == [said]
