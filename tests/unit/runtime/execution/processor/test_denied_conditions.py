"""A small model is asked for the positive of a condition in the negative, and its answer is turned round."""

import pytest

from tests.unit.runtime.execution.processor.walking import chosen, main, walking

SAID = main("- If there is no such order", '  - Say "None."', "- Otherwise", '  - Say "Found."', "- End program")
UNLESS = main("- Unless the weather is nice", '  - Say "Stay in."', '- Say "Bye."', "- End program")
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
async def test_the_answer_to_the_opposite_is_turned_round(program: str, answers: list[str], seen: list[str]) -> None:
    async with walking(program, *map(chosen, answers), questions_alone=True) as walk:
        assert await walk.say("hi") == seen
        assert len(walk.model.asked) == len(answers)


@pytest.mark.parametrize(("alone", "read"), [(True, "there is such an order"), (False, "there is no such order")])
async def test_only_a_small_model_reads_the_positive(alone: bool, read: str) -> None:
    async with walking(SAID, chosen("yes") if alone else "yes", questions_alone=alone) as walk:
        assert await walk.say("hi") == ["Found." if alone else "None."]
        assert f'is it true that "{read}"?' in walk.asked(0)
