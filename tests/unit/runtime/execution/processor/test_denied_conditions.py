"""A condition in the negative is asked as its positive, and the answer is turned round."""

from __future__ import annotations

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.unit.runtime.execution.processor.walking import main, walking

pytestmark = pytest.mark.anyio

SAID = main("- If there is no such order", '  - Say "None."', "- Otherwise", '  - Say "Found."', "- End program")
UNLESS = main("- Unless the weather is nice", '  - Say "Stay in."', '- Say "Bye."', "- End program")
WORDED = main(
    "- If there is no such order",
    "  - Tell the user that nothing was ordered",
    "- Otherwise",
    "  - Tell the user that it comes soon",
    "- End program",
)
LOOPED = main("- While there is no milk, at most 3 times", '  - Say "Buy milk."', '- Say "Bye."', "- End program")


@pytest.mark.parametrize(
    ("program", "answers", "seen"),
    [
        (SAID, ["yes"], ["Found."]),
        (SAID, ["no"], ["None."]),
        (UNLESS, ["yes"], ["Bye."]),
        (UNLESS, ["no"], ["Stay in.", "Bye."]),
        (LOOPED, ["yes"], ["Bye."]),
        (LOOPED, ["no", "no", "yes"], ["Buy milk.", "Buy milk.", "Bye."]),
    ],
)
async def test_the_answer_to_the_opposite_is_turned_round(
    program: str, answers: list[str], seen: list[str], sandbox: MontySandbox
) -> None:
    async with walking(program, *answers, sandbox=sandbox) as walk:
        assert await walk.say("hi") == seen
        assert len(walk.model.asked) == len(answers)


async def test_a_model_reads_the_positive(sandbox: MontySandbox) -> None:
    async with walking(SAID, "yes", sandbox=sandbox) as walk:
        await walk.say("hi")
        assert 'is it true that "there is such an order"?' in walk.asked(0)


@pytest.mark.parametrize(
    ("reply", "seen"), [("[2] Nothing was ordered.", "Nothing was ordered."), ("[3] It comes.", "It comes.")]
)
async def test_the_side_that_is_worded_tells_the_opposite(reply: str, seen: str, sandbox: MontySandbox) -> None:
    async with walking(WORDED, reply, sandbox=sandbox) as walk:
        assert await walk.say("hi") == [seen]
        asked = walk.asked(0)
        assert "go on with [2] if no, with [3] if yes." in asked
        assert "[2] Only if not: there is such an order:" in asked
        assert "[3] Only if there is such an order:" in asked
