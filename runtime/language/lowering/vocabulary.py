"""Words that steps begin with or end in, by what they say."""

from __future__ import annotations

from functools import cache
from typing import Final

from runtime.language.vocabulary.phrase import words_of

_LONGEST = 3
"""The number of words in the longest phrase."""

ROLES: Final = words_of("served") | words_of("roles")
THEIRS: Final = ROLES | words_of("relatives")


def beginning(text: str, phrases: frozenset[str]) -> str:
    """The longest of these phrases with which a text begins; "" for none."""
    words = text.lower().replace(",", " ").split(maxsplit=_LONGEST)[:_LONGEST]
    if not words or words[0] not in _firsts(phrases):
        return ""
    starts = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((start for start in starts if start in phrases), "")


@cache
def _firsts(phrases: frozenset[str]) -> frozenset[str]:
    return frozenset(one.partition(" ")[0] for one in phrases)


def variable_behind(text: str, phrases: frozenset[str]) -> str:
    """The variable at the end of a text behind one of these words, perhaps with an article; "" for none."""
    words = text.rstrip(" .").split()
    before = [word.lower() for word in words[:-1] if word.lower() != "the"]
    ends = len(words) > 1 and words[-1].startswith("$") and before[-1:] and before[-1] in phrases
    return words[-1] if ends else ""


def object_of(text: str, verbs: frozenset[str]) -> str:
    """The one variable that is all that follows a verb and an article: "figure out the $age"; "" for none."""
    rest = text[len(beginning(text, verbs)) :].split()
    words = rest[1:] if rest and rest[0].lower() in words_of("articles") else rest
    return words[0] if len(words) == 1 and words[0].startswith("$") and beginning(text, verbs) else ""
