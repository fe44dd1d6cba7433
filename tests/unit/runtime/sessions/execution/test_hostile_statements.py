"""Whatever statements and values a model writes, and tools give: it is refused in words, and the playbook goes on."""

from __future__ import annotations

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import agent, program, python, walked

pytestmark = pytest.mark.anyio

_DEEP = "the statement is nested"
_LONG = "a number has"

STATEMENTS = {
    "$x = " + "+".join(["1"] * 400): _DEEP,
    "$x += " + "+".join(["1"] * 400): _DEEP,
    "x = " + "+".join(["1"] * 9000): _DEEP,
    "$x = n" + "[0]" * 400: _DEEP,
    "$x = a" + ".b" * 5000: _DEEP,
    "$x = " + "1 if n else " * 400 + "2": _DEEP,
    "$x = " + "lambda: " * 400 + "1": _DEEP,
    "$x = " + "not " * 3000 + "1": _DEEP,
    "$x = " + "[" * 150 + "]" * 150: _DEEP,
    "n" + "[0]" * 400 + " = 1": _DEEP,
    "$x = " + "(" * 300 + "1" + ")" * 300: "too many nested parentheses",
    "$x = 0x" + "f" * 3600: _LONG,
    "$x = -0b" + "1" * 14_000: _LONG,
    "$x = " + "9" * 5000: _LONG,
    'await Var("x", 0x' + "f" * 3600 + ")": _LONG,
    'await Say("user", f"{0x' + "f" * 3600 + '}")': _LONG,
    "$x = 10**4000": "4096 bits",
    "$x = 9**9**9": "memory limit",
    "$x = f'{1:{10**9}}'": "memory limit",
    "await Return(10**4000)": "4096 bits",
    "$x = {(1, 2): 3}": "not JSON data",
    "$x = 1 + \u0661": "invalid character",
    '$x = "\0"': "null bytes",
    'await Yld("x" * 100)': "nobody called",
    'await Yld("agent " + "9" * 100)': "nobody called",
}
"""Statements, and what their refusals say."""


def settling(*more: str, code: str = "") -> Program:
    """A free step among exact ones."""
    steps = ("01:EXE Set $n to 1", *more, "03:QUE Somehow settle things with the user", '04:QUE Say(user, "after $n")')
    own = (python("Look"),) if code else ()
    return program(agent("Host", walked("Main", *steps, "05:YLD for exit", begins=True), *own, code=code))


@pytest.mark.parametrize(("written", "why"), STATEMENTS.items(), ids=range(len(STATEMENTS)))
async def test_no_statement_ends_a_playbook(written: str, why: str, sandbox: MontySandbox) -> None:
    model = Model(block(written), block('await Say("user", "Done.")'))
    async with talking(settling(), model, sandbox) as talk:
        assert await talk.say("go") == ["Done.", "after 1"]
    assert why in model.told(1)
    assert not {"set_int_max_str_digits", "recursion"} & set(model.told(1).split())


@pytest.mark.parametrize("written", ["9" * 4200, "-" + "9" * 4200, "[" * 300 + "]" * 300, "NaN", "1e999"])
async def test_a_value_that_cannot_be_kept_is_asked_again(written: str, sandbox: MontySandbox) -> None:
    kind = "list" if written.startswith("[") else "float"
    model = Model(Reply(written), Reply("[7]" if kind == "list" else "7"), block('await Say("user", "Done.")'))
    asks = f"02:QUE Set $x:{kind} to whatever fits best"
    async with talking(settling(asks), model, sandbox) as talk:
        assert (await talk.say("go"))[-1] == "after 1"
    assert "Your last answer could not be used: x " in model.told(1)


_NESTED = "__import__('functools').reduce(lambda inner, _: [inner], range({}), [])"
_RESULTS = (
    _NESTED.format(60),
    _NESTED.format(70),
    _NESTED.format(900),
    "10**4000",
    "2**5000",
    "'a' * 900_000",
    "'\\0'",
)


@pytest.mark.parametrize("given", _RESULTS, ids=range(len(_RESULTS)))
async def test_no_result_of_a_tool_ends_a_playbook(given: str, sandbox: MontySandbox) -> None:
    model = Model(
        block("seen = str(await Look())[:9]", 'await Say("user", "Done.")'), block('await Say("user", "Done.")')
    )
    async with talking(settling(code=f"async def Look():\n    return {given}\n"), model, sandbox) as talk:
        assert await talk.say("go") == ["Done.", "after 1"]
