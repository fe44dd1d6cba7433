"""What of an answer is read aloud."""

import pytest

from gateway.features.voice.speech import readable


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Good **morning**, _Ada_.", "Good morning, Ada."),
        ("## Plan\n\n- buy milk\n- 2 eggs!\n1. bake", "Plan. buy milk. 2 eggs! bake."),
        ("Run this:\n\n```sh\nrm -rf x\n```\n\nDone.", "Run this: Done."),
        ("Unfinished:\n```python\nprint(1)", "Unfinished:"),
        ("Prices:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all.", "Prices: That is all."),
        ("See [the docs](https://x.org/a_b) or https://y.org/z now.", "See the docs or now."),
        ("![a chart](x.png)\nUse `snake_case` names, 2*3*4.", "Use snake_case names, 2*3*4."),
        ("Hi 👋🏽 [@Ada](person:test:1)! ✅", "Hi @Ada!"),
        ("```\nonly code\n```", ""),
        ("> quoted", "quoted."),
        ("你好\u3002再见\uff01", "你好\u3002再见\uff01"),
        ("", ""),
        ("---", ""),
    ],
)
def test_code_tables_and_marks_are_left_out(text: str, read: str) -> None:
    assert readable(text, 1_000) == read


def test_a_long_answer_ends_with_a_sentence() -> None:
    text = "The first one is short. The second one, which is about 3.5 eggs, is longer! And a third."
    assert readable(text, 80) == "The first one is short. The second one, which is about 3.5 eggs, is longer!"
    assert readable(text, 70) == "The first one is short."
    assert readable("一句话\u3002第二句话很长很长很长\u3002", 8) == "一句话\u3002"


def test_a_sentence_that_is_too_long_ends_with_a_word() -> None:
    assert readable("word " * 100, 52) == "word word word word word word word word word word…"
    assert readable("x" * 100, 50) == "x" * 49 + "…"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    ["*", "`", "[", "![", "[a](", "`a ", "| ", "|", "> ", "    ", "    a\n\n", "\n", "~~~\n", "((", "http://", "."],
)
def test_a_long_text_of_marks_is_read_in_a_moment(piece: str) -> None:
    assert len(readable(piece * (200_000 // len(piece)), 1_500)) <= 1_500
