"""The board of `parley dev`: steps in sentences."""

import pytest

from gateway.dev.board import DevBoard
from gateway.dev.standing import in_words
from gateway.settings.tree import Settings
from gateway.talks.trying import ScriptedModel
from runtime.language.diagnostics import Span
from runtime.language.program import OpCode, Step

ASKED = "Say(user, Ask the user for their $guess:int); YLD for user; done when the user gave $guess"


@pytest.mark.parametrize(
    ("text", "walked", "words"),
    [
        (ASKED, True, "Ask the user for their $guess. Wait for the user until $guess is given."),
        ("Say(user, Be kind)", True, "A message to the user: Be kind."),
        ('Say(user, "Hello.")', True, 'Say "Hello." to the user.'),
        ("Greet the user", False, "Greet the user"),
    ],
)
def test_a_step_is_told_in_sentences(text: str, walked: bool, words: str) -> None:
    assert in_words(Step("01", OpCode.QUE, text, Span("it.pb", 1)), walked=walked) == words


def test_a_question_that_no_talk_answers_is_told_in_words_and_not_by_the_log() -> None:
    board = DevBoard(lambda _: ((), None), lambda _: None)
    assert not board.tells("llm.failed"), "a real model's failure is in the log"
    board.models = ScriptedModel((), Settings(), lambda _: None).models
    assert board.tells("llm.failed")
    assert board.tells("llm.broke_off")
    assert not board.tells("adapter.failed")
    board.quiet = True
    assert board.tells("adapter.failed"), "a terminal talk shows no log"
    assert not board.tells("model.unknown"), "but of a model that does not exist"
