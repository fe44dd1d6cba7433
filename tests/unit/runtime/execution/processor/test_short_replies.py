"""A reply need not say what its next answer tells: people see the first word after a label at most."""

import pytest

from runtime.execution.questions.form import OutcomeChoice, UnderstandQuestion, WordsQuestion, asked
from tests.unit.runtime.execution.processor.walking import answers, main, walking

BRANCH = main(
    "- Ask the user for their $name:str",
    "- If the name sounds royal",
    "  - Tell the user that a carriage waits",
    "- Otherwise",
    "  - Tell the user that the tram comes soon",
    '- Say "Bye."',
    "- End program",
)
ASKS = main("- Ask the user for their $name:str", '- Say "{name}!"', "- End program")


@pytest.mark.parametrize(
    ("reply", "seen"), [("Ada\n[4] Your carriage!", "Your carriage!"), ("Ada\n[5] Tram 4.", "Tram 4.")]
)
async def test_the_side_that_is_worded_tells_the_condition(reply: str, seen: str) -> None:
    async with walking(BRANCH, "Your name?", reply, after="hi") as walk:
        assert await walk.say("Ada it is") == [seen, "Bye."]
        assert "Write nothing for this, but go on with [4] if yes, with [5] if no." in walk.asked()
        assert len(walk.model.asked) == 2


async def test_an_answer_that_is_written_counts_before_the_words_behind_it() -> None:
    replies = ("Your name?", "Ada\n[3] yes\n[5] Tram 4.", "Your carriage!")
    assert await answers(BRANCH, *replies, to="Ada it is", after="hi") == ["Your carriage!", "Bye."]


async def test_words_with_the_label_of_a_condition_are_no_answer_to_a_condition() -> None:
    replies = ("Your name?", "Ada\n[3] Your carriage!", "no", "Tram 4.")
    assert await answers(BRANCH, *replies, to="Ada it is", after="hi") == ["Tram 4.", "Bye."]


async def test_a_side_without_words_is_decided_by_an_answer() -> None:
    steps = ("- If the weather is nice", "  - Tell the user to go out", '- Say "Bye."', "- End program")
    async with walking(main(*steps), "[2] Go out!", "no") as walk:
        assert await walk.say("hi") == ["Bye."]
        assert "Write nothing for this" not in walk.asked(0)


async def test_a_digression_needs_nothing_but_its_reply() -> None:
    replies = ("Your name?", "[2] For the form. Your name?", '{"name": "Ada"}')
    async with walking(ASKS, *replies, after="hi") as walk:
        assert await walk.say("why?") == ["For the form. Your name?"]
        assert await walk.say("Ada, then") == ["Ada!"]


async def test_a_reply_that_only_cancels_is_no_digression() -> None:
    replies = ("Your name?", "instead: cancel\n[2] As you like.")
    async with walking(ASKS, *replies, after="hi") as walk:
        assert await walk.say("stop this") == ["As you like."]
        assert walk.steps == ["01"]


def test_what_tells_an_answer_is_named_only_where_it_is_asked_with_it() -> None:
    words = WordsQuestion(("02", "words"), "Write this.")
    told = {words.key: "yes", ("03", "words"): "no"}
    choice = OutcomeChoice(("01", "test"), "Is it so?", {"yes": "", "no": ""}, told_by=told)
    outcomes = {"answer": "they answer", "other": "anything"}
    other = UnderstandQuestion(("01", "understand0"), "They wrote.", outcomes, told_by={words.key: "other"})
    assert "Answer with one of these alone: yes, no." in asked([choice])
    assert "Answer with one of these alone: yes, no." in asked([choice, words])
    assert "at once" not in asked([other])
    assert "write [2] at once" in asked([other, words])
