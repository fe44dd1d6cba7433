"""Exceptions of called playbooks, as the Python code that called them catches them."""

from __future__ import annotations

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

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
async def test_an_exception_is_caught_by_its_type_and_as_a_failed_playbook(raises: str, sandbox: MontySandbox) -> None:
    caught, said = CASES[raises]
    code = CODE.format(raises=raises, caught=caught)
    shop = program(agent("Shop", python("Main", trigger="BGN When program starts"), python("Fetch", "item"), code=code))
    async with talking(shop, Model(), sandbox) as talk:
        assert await talk.say("hi") == [said]
