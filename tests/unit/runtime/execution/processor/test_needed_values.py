"""Values that Python code needs: they cannot be skipped, and no call is made without them."""

import pytest

from tests.unit.runtime.execution.processor.walking import main, walking

ASKS = ("- Ask the user for the $day:str", "- $left = Book(day=$day)", '- Say "{left}"', "- End program")
BOOK = '''
    @playbook
    async def Book(day: {kind}) -> str:
        """Book a table."""
        return f"booked for {{day}}"
'''


def booking(kind: str, *steps: str) -> str:
    return main(*(steps or ASKS), code=BOOK.format(kind=kind))


def chosen(answer: str) -> str:
    return f'{{"answer": "{answer}"}}'


@pytest.mark.parametrize("alone", [False, True])
async def test_a_value_that_a_call_needs_cannot_be_skipped(alone: bool) -> None:
    understood = ('{"day": null}', chosen("skip")) if alone else ("instead: skip",)
    replies = ("Which day?", *understood, "I need a day.", '{"day": "Monday"}')
    async with walking(booking("str"), *replies, questions_alone=alone, after="hi") as walk:
        assert await walk.say("I keep that to myself") == ["I need a day.", *(["Which day?"] if alone else [])]
        assert "tell them kindly that you need their day to go on" in walk.asked()
        assert await walk.say("on Monday") == ["booked for Monday"]
        assert walk.called == [("Book", {"day": "Monday"})]


async def test_who_refuses_again_and_again_ends_the_step() -> None:
    refusals = [one for _ in range(3) for one in ("instead: skip", "I need a day.")]
    async with walking(booking("str"), "Which day?", *refusals, "instead: skip", after="hi") as walk:
        for _ in range(3):
            assert await walk.say("no") == ["I need a day."]
        (said,) = await walk.say("no")
        assert "nobody gave $day" in said
        assert walk.called == []


@pytest.mark.parametrize("kind", ["str | None", "Optional[str]", "Any", "object", "str = None"])
async def test_a_value_that_a_call_can_do_without_is_skipped(kind: str) -> None:
    async with walking(booking(kind), "Which day?", "instead: skip", after="hi") as walk:
        assert await walk.say("I would rather not tell") == ["booked for None"]


async def test_a_value_that_no_call_takes_is_skipped() -> None:
    steps = ("- Ask the user for the $day:str", '- Say "Fine."', "- End program")
    async with walking(booking("str", *steps), "Which day?", "instead: skip", after="hi") as walk:
        assert await walk.say("I would rather not tell") == ["Fine."]


async def test_no_call_is_made_without_a_value_that_it_needs() -> None:
    steps = ("- Set $day to null", "- $left = Book(day=$day)", '- Say "{left}"', "- End program")
    async with walking(booking("str", *steps)) as walk:
        said = await walk.say("hi")
        assert not any("booked" in text for text in said)
        assert any("Book takes day as str, and it was not given" in str(fact.data) for fact in walk.talk.world.facts)
