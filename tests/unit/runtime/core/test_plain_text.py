"""Strangers' texts, made plain."""

from __future__ import annotations

import json

import pytest

from runtime.core.plain_text import visible, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("20", 20),
        ("21", None),
        ("٣", 3),
        ("³", None),
        ("-1", None),
        ("", None),
        ("1e3", None),
    ],
)
def test_a_number_in_digits_is_read_up_to_its_bound(text: str, number: int | None) -> None:
    assert whole_number(text, 20) == number


def test_thousands_of_digits_are_no_number() -> None:
    assert whole_number("9" * 100_000) is None
    assert whole_number("0" * 100_000 + "1") == 1


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b]52;c;cm0gLXJm\x07", "\\u001b]52;c;cm0gLXJm\\u0007"),
        ("\x9b2J", "\\u009b2J"),
        ("done\rfailed", "done\\u000dfailed"),
        ("one\r\ntwo\n\tthree", "one\r\ntwo\n\tthree"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("half \ud83d", "half \\ud83d"),
        ("👩\u200d🔬 schön 你好 \u0645", "👩\u200d🔬 schön 你好 \u0645"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_written_out_json_is_the_same_json() -> None:
    data = {"text": "a\x1b[2J\x9b\u202e\u2066\r\nb\\"}
    assert json.loads(visible(json.dumps(data, ensure_ascii=False))) == data
