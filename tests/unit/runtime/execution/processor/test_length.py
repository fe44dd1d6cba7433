"""How long a message is: as its step says, else a sentence or two."""

import pytest

from runtime.execution.processor.questioner import Questioner
from runtime.language.instructions.model import Prose, Say


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
