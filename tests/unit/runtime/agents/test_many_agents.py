"""What agents cost grows with their number, and not with its square; what one does costs the same beside many."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.observing.calls import counted
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

MOVE = "async def Move(square):\n    return square + 1\n"


def made(count: int, call: str = "CreateAgent") -> Program:
    """Makes so many agents of a class, and has each do something."""
    code = f"""
async def Main():
    for n in range({count}):
        who = await {call}("Player")
        assert await CallAgent(who, "Move", {{"square": n}}) == n + 1
    await Say("user", "done")
    await EndProgram()
"""
    return program(agent("Host", MAIN, code=code), agent("Player", python("Move", "square", public=True), code=MOVE))


def begun(count: int) -> Program:
    """So many classes of agents that begin by themselves, and that speak to the first."""
    host = f"""
async def Main():
    heard = 0
    while heard < {count}:
        heard += len(await WaitForMessage("*"))
    await Say("user", "done")
    await EndProgram()
"""
    guest = 'async def Main():\n    await Say("Host", "here I am")\n'
    return program(agent("Host", MAIN, code=host), *(agent(f"Guest{n}", MAIN, code=guest) for n in range(count)))


async def calls_of(several: Program) -> int:
    async with MontySandbox(max_workers=1) as sandbox, talking(several, Model(), sandbox) as talk:
        with counted() as calls:
            assert (await talk.say("go"))[-1] == "done"
    return calls.count


@pytest.mark.parametrize(
    "several",
    [made, lambda count: made(count, "IdleAgent"), begun],
    ids=["made", "idle", "begun"],
)
async def test_the_work_for_each_agent_is_the_same_beside_many(several: Callable[[int], Program]) -> None:
    few, many = await calls_of(several(20)), await calls_of(several(160))
    assert many / 160 < 1.2 * few / 20


TEXT = """# Guest{n}
Takes part.

## Main($x:int = 1)
### Triggers
- When the program starts
### Steps
- Ask the user for $name
- If $name is known
  - $y = Look($name)
- Tell Guest0 about $y
- End program

## Look($name)
public: true
- Return $name
"""


async def test_compiling_and_checking_each_agent_is_the_same_work_beside_many(tmp_path: Path) -> None:
    async def work(count: int) -> int:
        file = tmp_path / f"{count}.pb"
        file.write_text("\n".join(TEXT.format(n=n) for n in range(count)))
        with counted() as calls:
            result = await compile_program([file], lowerer=RulesLowerer())
            assert not lint(result.program, SIGNATURES)
        assert len(result.program.agents) == count
        return calls.count

    few, many = await work(20), await work(160)
    assert many / 160 < 1.2 * few / 20
