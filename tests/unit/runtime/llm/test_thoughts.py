"""Thoughts that a server sends as text before the answer."""

from __future__ import annotations

import pytest

from runtime.llm.worker.thoughts import Thoughts


def seen(text: str, size: int) -> str:
    thoughts = Thoughts()
    pieces = [thoughts.without(text[start : start + size]) for start in range(0, len(text), size)]
    return "".join(pieces) + thoughts.rest()


@pytest.mark.parametrize("size", [1, 2, 5, 7, 1000])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\nHm, </thin no.\n</think>\n\nHello!", "Hello!"),
        ("\n<think></think>Hello!", "Hello!"),
        ("<thinking>Hm <think>deeper</think></thinking> Hello!", "Hello!"),
        ("<thought>Hm</thought>\n[1] Hello!\n", "[1] Hello!\n"),
        ("<think>Hm</think>One <think>two</think> three", "One <think>two</think> three"),
        ("Say <think> to think.</think>", "Say <think> to think.</think>"),
        ("<b>Hello</b>", "<b>Hello</b>"),
        ("<thin", "<thin"),
        (" \n", " \n"),
        ("<think>never done", ""),
        ("<think>Hm</think>", ""),
        ("", ""),
    ],
)
def test_the_answer_is_what_stands_behind_the_thought(text: str, answer: str, size: int) -> None:
    assert seen(text, size) == answer


def test_an_answer_is_seen_as_soon_as_it_begins() -> None:
    thoughts = Thoughts()
    pieces = ["<think>Hm</th", "ink>\n", "\nHe", "llo", ""]
    assert [thoughts.without(piece) for piece in pieces] == ["", "", "He", "llo", ""]


def test_a_long_thought_is_not_kept() -> None:
    thoughts = Thoughts()
    thoughts.without("<think>")
    for _ in range(1_000):
        thoughts.without("and then " * 10)
    assert thoughts.without("</think>Done") == "Done"
