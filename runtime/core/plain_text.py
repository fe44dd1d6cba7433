"""Plain versions of strangers' texts, without characters that move a cursor, hide or reorder."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MAX_ERROR_CHARS = 2_000
"""The longest text of a caught exception: it goes onto tapes and into prompts."""

_KEPT = frozenset("\n\t\u200d")
"""Characters that are not printable by Python's rules but belong to plain texts: line ends, tabs, emoji joiners."""


_STEERING = re.compile(
    "[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]|\\r(?!\\n)"
)


def plain(text: str) -> str:
    """`text` without control, format and private characters; its lines stay."""
    text = text.replace("\r\n", "\n")
    return "".join(char for char in text if char.isprintable() or char in _KEPT or unicodedata.category(char) == "Zs")


def visible(text: str) -> str:
    """`text` as a terminal may be given it: what would steer the terminal, or turn the direction of a line, in JSON's
    notation, which JSON reads as the same. Line ends and tabs stay.
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def whole_characters(text: str) -> str:
    """`text` with halves of characters joined, and U+FFFD for single halves, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_number(text: str, most: int = 999_999_999) -> int | None:
    """The number from 0 to `most` that is written in digits, and None for all else: also for thousands of digits, which
    `int` refuses."""
    if not text.isdecimal() or len(text.lstrip("0")) > len(str(most)):
        return None
    number = int(text.lstrip("0") or "0")
    return number if number <= most else None


def enumerated(names: Sequence[str], conjunction: str = " and ") -> str:
    """`Ada`, `Ada and Bob`, `Ada, Bob and Carol`."""
    *others, last = names
    return f"{', '.join(others)}{conjunction}{last}" if others else last


def shortened(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def error_text(error: BaseException) -> str:
    return shortened(str(error), MAX_ERROR_CHARS)


def one_line(text: str, max_chars: int) -> str:
    line = " ".join(plain(text[: 4 * max_chars]).split())
    return shortened(line, max_chars)
