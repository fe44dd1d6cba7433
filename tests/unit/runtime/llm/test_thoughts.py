"""What a model thinks aloud before its answer is left out, however the text is cut."""

from __future__ import annotations

import pytest

from runtime.llm.thoughts import Thoughts


def said(text: str, piece: int) -> str:
    thoughts = Thoughts()
    pieces = [thoughts.without(text[at : at + piece]) for at in range(0, len(text), piece)]
    return "".join([*pieces, thoughts.end()])


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>It is late. [1] yes</think>\n\n[1] no", "[1] no"),
        ("\n<Thinking>hm</thinking>Hello!", "Hello!"),
        ("<think></think>\n<think>again</think> 3", "3"),
        ("<think>never closed", ""),
        ("Hello <think>x</think>!", "Hello <think>x</think>!"),
        ("<thin", "<thin"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("  two blanks first", "  two blanks first"),
        ("", ""),
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(text: str, answer: str, piece: int) -> None:
    assert said(text, piece) == answer
