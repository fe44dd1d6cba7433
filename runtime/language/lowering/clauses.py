"""The clauses of a step: the parts between semicolons, full stops and "and", outside quotes and brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import islice

from runtime.language.instructions.text import without_inner_quotes

_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "vs", "cf", "no", "mr", "mrs", "ms", "dr", "st"})
_NEXT_SENTENCE = re.compile(r"\s+(?=[A-Z$]|(?:then|if|unless|otherwise|finally|afterwards)\b)")
_CONDITIONS = ("If ", "if ", "Otherwise", "otherwise", "Unless ", "unless ")
_JOINED = re.compile(r",?\s+(?:and\s+then|and\s+also|and|then|&)\s+|,(?!\d{3}\b)\s*(?:then\s+)?", re.IGNORECASE)
_PAIRS = {"(": ")", "[": "]", "{": "}", "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb"}
"""Opening marks, each with its closing marks: brackets, and quotes with two different marks."""
_MARKS = frozenset("\"'`([{\u201c\u201e\u00ab")
"""The marks that a text without quotes, brackets and code does not contain."""


def clauses(text: str) -> list[str]:
    """The sentences and the parts between semicolons; the whole text if its brackets or quotes do not match."""
    found, start = [], 0
    open_places = outside(text)
    if not open_places:
        return [text]
    for index in (at for at, char in enumerate(text) if char in ";.!?"):
        if index not in open_places:
            continue
        if text[index] == ";":
            found.append((start, index))
            start = index + 1
        elif index >= start:
            ends = _NEXT_SENTENCE.match(text, index + 1)
            if ends and (not _is_short(text[start:index]) or text.startswith(_CONDITIONS, ends.end())):
                found.append((start, index + (text[index] == "?")))
                start = ends.end()
    found.append((start, len(text)))
    parts = [text[begin:end].strip() for begin, end in found]
    return [part for part in parts if part]


def _is_short(text: str) -> bool:
    """Whether a text ends in an abbreviation or a number, whose full stop ends no sentence."""
    last = (text.lower().split() or [""])[-1].lstrip("(")
    return last in _ABBREVIATIONS or last.isdecimal()


def joints(text: str, most: int | None = None) -> Iterator[tuple[str, str]]:
    """Each way to cut a sentence in two at a comma, an "and" or a "then", at the first `most` of them."""
    open_places = outside(text)
    for match in islice(_JOINED.finditer(text), most):
        if match.start() in open_places and match.end() < len(text):
            yield text[: match.start()], text[match.end() :]


def unquoted(text: str) -> str:
    """The text with spaces in place of quotes, brackets and code."""
    if _MARKS.isdisjoint(text):
        return text
    open_places = outside(text)
    return "".join(char if index in open_places else " " for index, char in enumerate(text))


def open_text(text: str) -> str:
    """The text with spaces in place of quotes, brackets and code; the whole text if these do not match."""
    return unquoted(text) if outside(text) else text


@lru_cache(maxsize=256)
def outside(text: str) -> Collection[int]:
    """The positions outside quotes, brackets and code; none if these do not match."""
    if _MARKS.isdisjoint(text):
        return range(len(text))
    text = without_inner_quotes(text)
    closers: list[str] = []
    quote, places = "", set[int]()
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char in '"`' or (char == "'" and _opens(text, index)):
            quote = char
        elif closers and char in closers[-1]:
            closers.pop()
        elif char in _PAIRS:
            closers.append(_PAIRS[char])
        elif not closers:
            places.add(index)
    return () if quote or closers else frozenset(places)


def _opens(text: str, index: int) -> bool:
    """Whether an apostrophe is a quote: nothing precedes it, and another one ends a word after it."""
    before = index == 0 or not text[index - 1].isalnum()
    return before and re.search(r"\w[.,!?]?'(?!\w)", text[index + 1 :]) is not None
