"""Values that Python code needs cannot be skipped; what a person did not say is told to nobody as a null."""

from pathlib import Path

import pytest

from runtime.core.texts import load_texts
from tests.unit.runtime.execution.processor.walking import answers, chosen, main, walking

ASKS = ("- Ask the user for the $day:str", "- $left = Book(day=$day)", '- Say "{left}"', "- End program")
BOOK = '''
    @playbook
    async def Book(day: {kind}) -> str:
        """Book a table."""
        return f"booked for {{day}}"
'''


def booking(kind: str, *steps: str) -> str:
    return main(*(steps or ASKS), code=BOOK.format(kind=kind))


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
        assert "nobody gave &#36;day" in said
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


ASKED = "- Ask the user for their $phone:str"
SKIPS = "I'd rather not say", '{"does": "skip"}'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('Say "Phone: {phone}, code {code}"', "Phone: not given, code 7"),
        ('Say "Phone: $phone."', "Phone: not given."),
        ('Say "Phone: {phone:>12}"', "Phone: not given"),
    ],
)
async def test_exact_words_say_that_a_value_was_not_given(words: str, said: str) -> None:
    steps = (ASKED, "- Set $code to 7", f"- {words}", "- End program")
    text, skips = SKIPS
    assert await answers(main(*steps), "Your phone?", skips, to=text, after="hi") == [said]


async def test_within_a_text_that_is_put_together_nothing_stands_for_it() -> None:
    text, skips = SKIPS
    steps = (ASKED, '- Set $line to "Phone: " + $phone', '- Say "[{line}]"', "- End program")
    assert await answers(main(*steps), "Your phone?", skips, to=text, after="hi") == ["[Phone: ]"]


async def test_words_of_a_model_are_filled_in_likewise_and_it_is_told_so() -> None:
    text, skips = SKIPS
    steps = (ASKED, "- Tell the user what we noted as $phone", "- End program")
    async with walking(main(*steps), "Your phone?", skips, "We noted: {phone}.", after="hi") as walk:
        assert await walk.say(text) == ["We noted: not given."]
        assert "$phone (not given)" in walk.asked()


async def test_it_is_said_in_the_language_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "de.toml").write_text('[session]\nnot_given = "keine Angabe"\n', encoding="utf-8")
    text, skips = SKIPS
    steps = (ASKED, '- Say "Telefon: {phone}"', "- End program")
    texts = load_texts("de", tmp_path)
    async with walking(main(*steps), "Ihr Telefon?", skips, texts=texts, after="hallo") as walk:
        assert await walk.say(text) == ["Telefon: keine Angabe"]
