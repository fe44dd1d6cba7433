"""Thoughts that a server sends as text before the answer."""

import pytest

from runtime.llm.answering import ThoughtHabit, Thoughts


def said(text: str, size: int, thoughts: Thoughts | None = None) -> str:
    thoughts = thoughts or Thoughts()
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
        ("One <think>two</think> three </think>.", "One <think>two</think> three </think>."),
        ("A thought</think>Hello!", "A thought\n\nHello!"),
        ("A thought\n[/THINK]\n\nHello! a < b", "A thought\n\nHello! a < b"),
        ("Write `</think>` at its end.", "Write `</think>` at its end."),
        ("```\n</think>\n```", "```\n</think>\n```"),
        ('The tag "</think>" ends it', 'The tag "</think>" ends it'),
        ("a < b </thin", "a < b </thin"),
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


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_model_that_once_ended_a_thought_without_beginning_it_is_held_until_it_does(size: int) -> None:
    habit = ThoughtHabit()

    def heard(text: str) -> str:
        thoughts = habit.thoughts()
        answer = said(text, size, thoughts)
        habit.heard(thoughts, whole=True)
        return answer

    assert heard("I think.\n</think>\n\nOne") == "I think.\n\nOne"  # it was seen already: only the mark is left out
    assert heard("I think again.</think>\n\nTwo") == "Two"
    assert heard("<think>Openly.</think>Three") == "Three"
    assert heard("Hm</think>Four") == "Hm\n\nFour"
    assert heard("No thought at all, `</thin`") == "No thought at all, `</thin`"
    pieces = habit.thoughts()
    assert pieces.without("Now it is seen as it comes ") == "Now it is seen as it comes "


def test_an_answer_that_was_left_keeps_what_is_known_of_the_model() -> None:
    habit = ThoughtHabit()
    left = habit.thoughts()
    left.without("Hm</think>So")
    habit.heard(left, whole=False)
    again = habit.thoughts()
    assert again.without("Hm, ") == ""
    habit.heard(again, whole=False)
    assert habit.thoughts().without("Hm, ") == ""


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("marks", "text", "answer"),
    [
        (("<mull>", "</mull>"), "<Mull>Hm</mull>Hello!", "Hello!"),
        (("<mull>", "</mull>"), "<think>Hm</think><mull>Hm</mull>Hello!", "Hello!"),
        (("", "</mull>"), "Hm</mull>Hello!", "Hello!"),
        (("", "</mull>"), "Hm</think>Hello!", "Hello!"),
        (("", "</mull>"), "Hello!", "Hello!"),
    ],
)
def test_marks_of_the_settings_are_those_of_thoughts(marks: tuple[str, str], text: str, answer: str, size: int) -> None:
    habit = ThoughtHabit(marks)
    for _ in range(2):
        thoughts = habit.thoughts()
        assert said(text, size, thoughts) == answer
        habit.heard(thoughts, whole=True)


def test_a_mark_with_a_letter_that_only_looks_alike_is_a_word() -> None:
    assert said("‹thİnk>Hm", 1) == said("‹thİnk>Hm", 1000) == "‹thİnk>Hm"
    assert said("<thİnk>Hm</think> yes", 1000).endswith("yes")
