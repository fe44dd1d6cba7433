"""Thoughts that a server sends as text before the answer."""

from __future__ import annotations

import pytest

from runtime.llm.thoughts import Thoughts


def said(text: str, size: int) -> str:
    thoughts = Thoughts()
    pieces = [thoughts.without(text[start : start + size]) for start in range(0, len(text), size)]
    return "".join([*pieces, thoughts.end()])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>It is late. [1] yes</think>\n\n[1] no", "[1] no"),
        ("<think>\nHm, </thin no.\n</think>\n\nHello!", "Hello!"),
        ("\n<Thinking>hm</thinking>Hello!", "Hello!"),
        ("<think></think>\n<think>again</think> 3", "3"),
        ("<think>Straße İ ß</THINK>Hello!", "Hello!"),
        ("<thinking>Hm <think>deeper</think></thinking> Hello!", "Hello!"),
        ("<thought>Hm</thought>\n[1] Hello!\n", "[1] Hello!\n"),
        ("<mm:think>Hm</mm:think>Hello!", "Hello!"),
        ("[THINK]Hm [1][/THINK][1] no", "[1] no"),
        ("\u25c1think\u25b7Hm</think>\u25c1/think\u25b7Hello!", "Hello!"),
        ("<|channel>thought\nHm<channel|>Hello!", "Hello!"),
        ("[1] no", "[1] no"),
        ("<think>Hm</think>One <think>two</think> three", "One <think>two</think> three"),
        ("Hello <think>x</think>!", "Hello <think>x</think>!"),
        ("<think>never closed", ""),
        ("<think>Hm</think>", ""),
        ("<thin", "<thin"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("  two blanks first", "  two blanks first"),
        (" \n", " \n"),
        ("", ""),
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(text: str, answer: str, size: int) -> None:
    assert said(text, size) == answer


def test_an_answer_is_seen_as_soon_as_it_begins() -> None:
    thoughts = Thoughts()
    pieces = ["<think>Hm</th", "ink>\n", "\nHe", "llo", ""]
    assert [thoughts.without(piece) for piece in pieces] == ["", "", "He", "llo", ""]


def test_a_long_thought_leaves_the_answer_behind_it() -> None:
    thoughts = Thoughts()
    thoughts.without("<think>")
    for _ in range(1_000):
        assert thoughts.without("and then " * 10) == ""
    assert thoughts.without("</think>Done") == "Done"
