"""The words of a step that carry meaning, and those that its instructions have lost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from runtime.core.times import NUMBER_WORDS
from runtime.language.instructions.text import CALLED
from runtime.language.lowering import messages
from runtime.language.lowering.clauses import clauses, joints
from runtime.language.lowering.questions import without_what_was_found
from runtime.language.syntax.signature import spaced
from runtime.language.vocabulary.phrase import phrase, phrases_of, words_of

_TOKEN = re.compile(r"\$[^\W\d]\w*|\d+(?:\.\d+)?|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_SMALL_WORDS = words_of("small words") | words_of("manner") - {"only"}
_STOOD_FOR = phrases_of("Words that instructions stand for")
_STOOD_FOR_WORDS = {name.removeprefix("instead of "): words_of(name) for name in _STOOD_FOR}
"""The words that an instruction replaces, by its start or its call."""
_STOOD_FOR_WORDS["QUE Say"] |= words_of("served")
_LONG_STARTS = tuple((start, f"; {start}") for start in _STOOD_FOR_WORDS if " " in start)
"""The starts of more than one word, each also as it stands after another instruction."""
_STEM = 4
_SPELT_NUMBERS = tuple((str(number), word) for number, word in enumerate(NUMBER_WORDS))
_BEFORE, _BEHIND = frozenset(" (,;\n"), frozenset(" ),;\n")
"""The marks beside a text that belong to none of its words."""


def lost_words(said: str, compiled: Iterable[str], operands: Iterable[str] | None = None) -> list[str]:
    """The words of an author's text, in its order, that stand in no instruction, nor, if given, in its `operands`."""
    rows = tuple(compiled)
    said = _apart_from_what_was_found(said, rows)
    there = "\n".join(rows if operands is None else operands)
    sleeps = _sleeps(rows)
    if not sleeps and stands_in(said, there):
        return []
    kept = _tokens(there) | _numbers(there)
    if operands is not None:
        kept |= {word for number, word in _SPELT_NUMBERS if number in kept}
    said = phrase("length of time").left_out_of(said) if sleeps else said
    known = kept | _dropped(rows)
    lost = []
    if operands is None:
        lost += [f'"{text}"' for text in quoted(said) if squeezed(text) not in squeezed(there)]
    lost += [token for token in _read(said) if _key(token) not in known and not _parts(token) <= known]
    return list(dict.fromkeys(lost))


@lru_cache(maxsize=256)
def _apart_from_what_was_found(said: str, rows: tuple[str, ...]) -> str:
    """A text without *there is no such order*, where `$order is missing` is in its place."""
    replaced = any(row.startswith("CND") and row.endswith((" is missing", " is given")) for row in rows)
    return without_what_was_found(said) if replaced else said


def stands_in(said: str, there: str) -> bool:
    """Whether a text stands in another one letter for letter, so that none of its words can be lost."""
    start = there.find(said) if said.isascii() else -1
    end = start + len(said)
    return start >= 0 and (start == 0 or there[start - 1] in _BEFORE) and (end == len(there) or there[end] in _BEHIND)


def lost_clauses(said: str, compiled: Iterable[str]) -> list[str]:
    """The author's clauses missing in other words than his: a number is, or over half of the words that matter."""
    rows = tuple(compiled)
    said = _apart_from_what_was_found(said, rows)
    there = "\n".join(rows)
    if stands_in(said, there):
        return []
    stems = frozenset(map(_stem, _tokens(there) | _numbers(there)))
    dropped = _dropped(rows)
    sleeps = _sleeps(rows)
    if not any(_missing(token, dropped, stems) for token in _read(said)):
        return []
    lost = []
    for clause in (part for sentence in clauses(said) for part in _pieces(sentence)):
        timeless = phrase("length of time").left_out_of(clause) if sleeps else clause
        words = [_parts(token) - dropped for token in _read(timeless)]
        missing = [parts for parts in words if parts and not {_stem(part) for part in parts} <= stems]
        numbers = any(part.isdigit() for parts in missing for part in parts)
        if numbers or len(missing) * 2 > sum(1 for parts in words if parts):
            lost.append(clause)
    return lost


def _missing(token: str, dropped: frozenset[str], stems: frozenset[str]) -> bool:
    """Whether a word of the author's begins like none that is there."""
    return not stems.issuperset(map(_stem, _parts(token) - dropped))


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence cut at each comma, "and" and "then"."""
    start = 0
    for head, tail in joints(sentence):
        yield sentence[start : len(head)]
        start = len(sentence) - len(tail)
    yield sentence[start:]


@lru_cache(maxsize=4096)
def _parts(token: str) -> frozenset[str]:
    """The parts of a CamelCase word."""
    words = [token] if token.startswith("$") else spaced(token.replace("_", " ")).split()
    return frozenset(map(_key, words))


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    return str(NUMBER_WORDS.index(word)) if word in NUMBER_WORDS else word.removeprefix("$")[:_STEM]


def quoted(text: str) -> list[str]:
    """The texts in double quotes."""
    if '"' not in text and "\u201c" not in text:
        return []
    return [said for one in messages.QUOTATION.findall(text) if (said := one[1:-1]).strip()]


def squeezed(text: str) -> str:
    """A text for comparison, with single spaces and straight quotes."""
    return " ".join(_plain(text).split())


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')


@lru_cache(maxsize=256)
def _tokens(text: str) -> frozenset[str]:
    """The words of a text; cached, like the parts of words below, because a step is read several times."""
    return frozenset[str]().union(*map(_token_keys, _read(text)))


@lru_cache(maxsize=256)
def _read(text: str) -> Sequence[str]:
    """The words, numbers and variables of a text, in its order."""
    return _TOKEN.findall(_plain(text))


@lru_cache(maxsize=4096)
def _token_keys(token: str) -> frozenset[str]:
    return frozenset(_key(part) for part in (token, *spaced(token.replace("_", " ")).split()))


def _numbers(text: str) -> set[str]:
    return {_key(token) for token in _read(text) if token[0].isdigit()}


@lru_cache(maxsize=4096)
def _key(token: str) -> str:
    token = token.casefold()
    if token[:1].isdigit():
        return token.lstrip("0") or "0"
    return token if token.startswith("$") else token.removesuffix("'s").replace("'", "")


def _sleeps(rows: tuple[str, ...]) -> bool:
    """Whether a time in words may stand in them in seconds."""
    return "Sleep(" in "\n".join(rows)


@lru_cache(maxsize=256)
def _dropped(rows: tuple[str, ...]) -> frozenset[str]:
    starts: dict[str, None] = {}
    for row in rows:
        code, _, text = row.partition(" ")
        named = (*CALLED.findall(text), code) if "(" in text else (code,)
        for name in named:
            if name in _STOOD_FOR_WORDS:
                starts[name] = None
        for start, later in _LONG_STARTS:
            if row.startswith(start) or later in row:
                starts[start] = None
    return _words_for(tuple(starts))


@lru_cache(maxsize=256)
def _words_for(starts: tuple[str, ...]) -> frozenset[str]:
    """The words that need not appear in instructions with this start or call."""
    return _SMALL_WORDS.union(*(_STOOD_FOR_WORDS[start] for start in starts))
