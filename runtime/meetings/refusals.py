"""Plain refusals in the words of an invited person: a rule about words, never a guess."""

from __future__ import annotations

import re
from functools import cache

from runtime.core.texts import Texts

_AROUND = " \t\n\"'\u2018\u201c\u201d*_"
_STOP = "[,.;:!()\n\u2013\u2014-]"
"""The mark at the end of a refusal that is followed by more. A question mark is none: "No?" is no answer."""


def refuses(text: str, texts: Texts) -> bool:
    """Whether `text` begins with a refusal such as "not now" and then makes a stop, gives a reason or says no more.

    Before it may stand a mention and openers ("sorry"), behind it endings ("right now"). Which words these are is in
    the texts of the language.
    """
    words = text.casefold().replace("\u2019", "'").strip(_AROUND)
    parts = (texts(f"meeting.refusal.{part}") for part in ("words", "openers", "endings", "reasons"))
    return _pattern(*parts).match(words) is not None


@cache
def _pattern(words: str, openers: str, endings: str, reasons: str) -> re.Pattern[str]:
    begins = rf"(?:@\S+\s+)?(?:{_any_of(openers)}(?:\s|{_STOP})+)*"
    ends = rf"(?:\s+{_any_of(endings)})*\s*(?:{_STOP}|$|\b{_any_of(reasons)})"
    return re.compile(rf"{begins}{_any_of(words)}(?:\s+{_any_of(words)})*{ends}")


def _any_of(phrases: str) -> str:
    """A pattern for the longest fitting one of several phrases, separated by commas."""
    each = sorted((phrase.split() for phrase in phrases.casefold().split(",")), key=len, reverse=True)
    return "(?:" + "|".join(r"\s+".join(map(re.escape, phrase)) for phrase in each if phrase) + r")(?!\w|'\w)"
