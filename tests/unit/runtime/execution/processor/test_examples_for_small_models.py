"""The example of a message that a small model is given: the step's words, as the agent says them."""

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
