"""Words of texts and of questions, in any language. What is written without spaces is cut into pairs of letters.

A word is in small letters and without accents. 数据库 is 数据, 据库 and 库: two letters are one word of the index, more
are several words in a row, and one letter is the beginning of a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MIN_MISTAKEN_CHARS = 4
"""Shorter words are looked for as they are spelled."""

MAX_WORD_CHARS = 64

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_FIRST_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ASKED = re.compile(r'"([^"]*)"?|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class Run:
    """Letters without a space between them. `unspaced`: of a script that has none."""

    letters: str
    unspaced: bool


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return [word for run in _runs(text) for word in _words(run)]


def texts_in(value: Any) -> Iterator[str]:
    """Every text in JSON data, but for the names of its parts."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting.extend(reversed(found.values()))
        elif isinstance(found, list):
            waiting.extend(reversed(found))


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row. `begins`: the last one may go on."""

    words: tuple[str, ...]
    begins: bool = False


Meant = Sequence[Sequence[Phrase]]
"""What a question means: a text has one phrase of each part."""


def meant(asked: str, spellings: Callable[[str], Sequence[str]]) -> Meant:
    """All words of a question, and phrases as they stand in quotation marks. `spellings` gives the words that are meant
    by one."""
    return [
        part
        for phrase, word in _ASKED.findall(asked)
        for part in ([_phrase(phrase)] if phrase else [_asked_run(run, spellings) for run in _runs(word)])
        if part
    ]


def match_of(parts: Meant) -> str | None:
    """What to ask an index for; None for nothing."""
    texts = (" OR ".join(f'"{" ".join(one.words)}"{" *" if one.begins else ""}' for one in part) for part in parts)
    return " AND ".join(f"({text})" for text in texts) or None


def placed_words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of a text as `words_of` gives them, each with the place where it begins and where it ends."""
    for found in _RUN.finditer(text):
        for run in _runs(found[0]):
            start, end = found.span()
            if run.unspaced and len(run.letters) == end - start:
                yield from (
                    (run.letters[at : at + 2], start + at, min(start + at + 2, end)) for at in range(end - start)
                )
            else:
                yield from ((word, start, end) for word in _words(run))


def distance(one: str, other: str, most: int) -> int | None:
    """The number of mistakes by which one word comes of the other: a letter more, less or another, or two exchanged.
    None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, theirs in enumerate(other, 1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != theirs))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == theirs:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
        if min(now) > most:
            return None
    return last[-1] if last[-1] <= most else None


def mistakes_in(word: str) -> int:
    """The number of mistakes that a word may have."""
    return 0 if len(word) < MIN_MISTAKEN_CHARS or not word.isalpha() else 1 if len(word) < 2 * MIN_MISTAKEN_CHARS else 2


def _runs(text: str) -> Iterator[Run]:
    for letters in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _FIRST_UNSPACED.match(letters):
            yield Run(letters, unspaced=True)
        else:
            plain = unicodedata.normalize("NFD", letters)
            kept = "".join(letter for letter in plain if not unicodedata.combining(letter))
            yield Run(kept[:MAX_WORD_CHARS], unspaced=False)


def _words(run: Run) -> list[str]:
    return [run.letters[at : at + 2] for at in range(len(run.letters))] if run.unspaced else [run.letters]


def _asked_words(run: Run) -> list[str]:
    """The words of a part of a question: without the last letter alone, which is a word only where a text ends."""
    words = _words(run)
    return words[:-1] if run.unspaced and len(words) > 1 else words


def _phrase(text: str) -> Sequence[Phrase]:
    """A phrase: its words in a row. Within it, letters without spaces may end in the middle of a longer run."""
    runs = list(_runs(text))
    words = [word for run in runs[:-1] for word in _words(run)] + (_asked_words(runs[-1]) if runs else [])
    alone = len(words) == 1 and runs[-1].unspaced and len(runs[-1].letters) == 1
    return [Phrase(tuple(words), alone)] if words else []


def _asked_run(run: Run, spellings: Callable[[str], Sequence[str]]) -> Sequence[Phrase]:
    if run.unspaced:
        return _phrase(run.letters)
    return [Phrase((word,)) for word in spellings(run.letters) or [run.letters]]
