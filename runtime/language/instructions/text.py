"""The text of steps: the parts between its marks, outside of quotes and brackets."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence

from runtime.language.placeholders import placeholders
from runtime.language.vocabulary.phrase import phrase

TYPE = r"[A-Za-z]\w*(?:\[[^\]=]*\])?(?:\s*\|\s*[A-Za-z]\w*(?:\[[^\]=]*\])?)*"
"""The type of a variable, as it is written behind its name and a colon."""
CALL = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)?)\s*\(")
KEYWORD = re.compile(r"\$?([^\W\d]\w*)\s*=(?!=)\s*")
CALLED = re.compile(r"(?<![\w.$])([^\W\d]\w*(?:\.[^\W\d]\w*)?)\((?!s\))")
"""The name of a call anywhere in a text, which `order(s)` is not."""
QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|(?<![\w\"])'[^']*'(?!\w)")
STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_NO_MARKS = frozenset(f"{string.ascii_letters}{string.digits} ")
_QUOTATION = re.compile(
    '"[^"\n]*"|\u201c([^\u201c\u201d"\n]*)\u201d|\u201e([^\u201c-\u201e"\n]*)[\u201c\u201d]'
    '|\u00ab([^\u00ab\u00bb"\n]*)\u00bb|\u2018([^\u2018\u2019"\n]*)\u2019(?!\\w)'
)


def without_inner_quotes(text: str) -> str:
    """A text of the same length without the quotes inside of its placeholders: `{$room["number"]}`."""
    for one in placeholders(text) if "{" in text and '"' in text else ():
        text = text[: one.start] + text[one.start : one.end].replace('"', "_") + text[one.end :]
    return text


def with_straight_quotes(text: str) -> str:
    """A text with `"` in place of typographic quotes, where these stand outside of straight ones."""
    if text.isascii():
        return text
    return _QUOTATION.sub(lambda found: found[0] if found.lastindex is None else f'"{found[found.lastindex]}"', text)


def unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def assignment(text: str) -> tuple[str, str] | None:
    """The variable, as it is written, and the value of `$name:type = value`; None for any other text."""
    target, sign, value = text.partition("=")
    name, _, kind = target.removeprefix("$").partition(":")
    assigns = sign and not value.startswith("=") and text.startswith("$") and name.strip().isidentifier()
    return (target.rstrip(), value.lstrip()) if assigns and kind.strip(" ")[:1] not in ("$", '"') else None


def split_first(text: str) -> tuple[str, str, str]:
    """The text before the first comma outside of quotes and brackets, the comma, and the rest."""
    first = next(_outside(text, ","), len(text))
    return text[:first], text[first : first + 1], text[first + 1 :]


def clauses_of(text: str) -> list[str]:
    """The parts of a step between semicolons, outside of quotes and brackets."""
    return [part.strip() for part in split_at(text, ";") if part.strip()]


def split_at(text: str, mark: str) -> list[str]:
    parts, at = [], 0
    for end in _outside(text, mark):
        parts.append(text[at:end])
        at = end + 1
    return [*parts, text[at:]]


def _outside(text: str, mark: str) -> Iterator[int]:
    """The positions of `mark` outside quotes and brackets."""
    if mark not in text:
        return
    depth = 0
    for at, char in _outside_quotes(text, 0):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(0, depth - 1)
        elif char == mark and depth == 0:
            yield at


def _outside_quotes(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The marks from `start` on that are neither in quotes nor quotes, with their positions."""
    quote = ""
    for at in range(start, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char == '"' or (char == "'" and not text[at - 1 : at].isalnum() and "'" in text[at + 1 :]):
            quote = char
        elif char in "\u201c\u201e\u00ab":
            quote = _closing(text, at)
        elif char not in _NO_MARKS:
            yield at, char


def _closing(text: str, at: int) -> str:
    """The mark that closes the typographic quote opened at a position; empty if it is never closed."""
    closing = "\u00bb" if text[at] == "\u00ab" else "\u201d" if text[at] == "\u201c" else "\u201c"
    if text[at] == "\u201e" and closing not in text[at:]:
        closing = "\u201d"
    return closing if closing in text[at + 1 :] else ""


def inside_of(text: str, start: int, *, lenient: bool = False) -> str | None:
    """The text inside the bracket that opens at `start`; None if it is never closed."""
    depth = 0
    for at, char in _outside_quotes(text, start):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : at]
    return text[start + 1 :].rstrip(")") if lenient else None


def governing(
    said: str,
    is_whole: Callable[[str], bool],
    kinds: Sequence[str] = ("words", "value"),
    always: Sequence[str] = ("any",),
) -> str:
    """The words of a text that are no part of it, and say when, how often or on what condition something is done; ""
    where there are none. Those of the kinds `always` do so wherever they stand, others behind what `is_whole` alone."""
    for found in phrase("governs").all_inside(said):
        behind = any(found[kind] for kind in ("any", "over", *kinds)) and is_whole(said[: found.start()].rstrip(" ,"))
        if behind or any(found[kind] for kind in always):
            return found.whole
    return ""
