"""What is asked for the words of a step: their length, and the example that a small model is given."""

import pytest

from runtime.execution.processor.questioner import Questioner
from runtime.language.instructions.model import Ask, Prose, Say, VariableTarget

NAMES = {"dish": "risotto", "minutes": 25, "city": "Oslo"}


def task(part: Say | Ask, speaker: str = "Waiter") -> str:
    """The task for the words of a step."""
    question = Questioner({}, None, speaker).words("01", part, NAMES)
    assert question is not None
    return question.task


@pytest.mark.parametrize(
    ("target", "step", "example"),
    [
        ("user", "Tell the user that it takes $minutes minutes", "It takes 25 minutes."),
        ("Cook", "Ask Cook how long $dish takes", "Please tell me how long risotto takes."),
        ("Waiter", "Tell Waiter that it takes $minutes minutes", "It takes 25 minutes."),
        ("Pricing", "Ask the Pricing to tell you the price for $city", "Please tell me the price for Oslo."),
        ("meeting", "Tell the meeting that you want blue", "I want blue."),
        ("meeting", "Ask Painter which colour is best", "Painter, which colour is best?"),
        ("meeting", "Ask everyone for their opinion", "What is your opinion?"),
    ],
)
def test_a_small_model_is_given_the_words_for_people_and_for_agents(target: str, step: str, example: str) -> None:
    assert f'For example: "{example}" ' in task(Say((target,), Prose(step)))


def test_the_variable_of_an_answer_is_its_name_in_the_example_of_a_question() -> None:
    asks = Ask(("Cook",), Prose("Ask Cook for the $dish:str of the day"), ("Cook",), (VariableTarget("dish"),))
    assert 'For example: "What is the dish of the day?" ' in task(asks)


@pytest.mark.parametrize("step", ["Ask the user for their $city:str", "Ask Cook how long $dish takes"])
def test_a_large_model_is_given_none_and_words_the_message_itself(step: str) -> None:
    assert "For example" not in task(Say(("user",), Prose(step)), speaker="")


@pytest.mark.parametrize("step", ["Calm the user down", "Tell the meeting the outcome"])
def test_there_is_none_for_words_that_do_not_hold_the_message(step: str) -> None:
    assert "For example" not in task(Say(("meeting",), Prose(step)))


def asked(step: str, speaker: str = "") -> str:
    question = Questioner({}, None, speaker).words("01", Say(("user",), Prose(step)), {})
    assert question is not None
    return question.task


@pytest.mark.parametrize("speaker", ["", "Clerk"])
def test_a_message_is_short_where_its_step_says_nothing_of_its_length(speaker: str) -> None:
    for step in ("Greet the user", "Tell the user that it is late", "Thank them"):
        assert "in a sentence or two" in asked(step, speaker)


@pytest.mark.parametrize("speaker", ["", "Clerk"])
def test_a_step_that_says_how_long_its_message_is_is_not_asked_for_in_a_sentence_or_two(speaker: str) -> None:
    for step in (
        "Greet the user with a long story",
        "Explain the rules in detail",
        "Show the user all orders, one per line",
        "Write the user a letter of three paragraphs.",
        "Say goodbye in ten words",
    ):
        assert "sentence or two" not in asked(step, speaker)
