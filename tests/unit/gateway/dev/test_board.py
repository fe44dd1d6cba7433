"""The board of `parley dev`: steps in sentences."""

from __future__ import annotations

import pytest

from gateway.dev.standing import in_words
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
