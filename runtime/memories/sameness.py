"""Sameness of two memories: whether both are about the same thing, so that the newer one replaces the older."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from runtime.memories.words import tokens
from runtime.stores.memories import Memory

_ALIKE = 0.6
"""The part of the words of two texts that has to be common to both."""

_LEAST_COMMON = 2

_SINGLE = re.compile(
    r"\b(?:(?:lives?|living|moved|resides?) (?:in|at|to)|(?:works?|working) (?:at|for|as)|is (?:called|named)"
    r"|goes by|(?:prefers|wants) to be called|was born (?:in|on)|speaks mostly)\b",
    re.IGNORECASE,
)
"""What a person does in one place, or has one of, at a time."""

_SINGLE_KEYS = {"moved": "live", "live": "live", "lives": "live", "living": "live", "reside": "live", "resides": "live"}

_ATTRIBUTE = re.compile(
    r"^(?:(?:the )?(?:user|person|\w+)['\u2019]s|their|his|her|my|your|our|the) (.{2,60}?) (?:is|are|was|were) ",
    re.IGNORECASE,
)
"""The beginning of "Her favourite colour is green"."""

_KINDS = (
    frozenset(tokens("vegetarian vegan pescatarian omnivore")),
    frozenset(tokens("married single divorced widowed engaged")),
)
"""Of each of these a person is one at a time."""


def replaced_by(text: str, owner: str, about: str, known: Sequence[Memory]) -> tuple[str, ...]:
    """The ids of the memories that a new text of this owner replaces."""
    new = _read(text)
    return tuple(
        old.id for old in known if (old.owner, old.about) == (owner, about) and new.is_about_the_same(_read(old.text))
    )


class _Told:
    """What a text tells, as far as it matters here."""

    def __init__(self, text: str) -> None:
        self._words = frozenset(tokens(text))
        single = _SINGLE.search(text)
        self._does = "" if single is None else _key(single[0])
        attribute = _ATTRIBUTE.match(text.strip())
        self._attribute = frozenset() if attribute is None else frozenset(tokens(attribute[1]))
        self._kinds = frozenset(number for number, kind in enumerate(_KINDS) if kind & self._words)

    def is_about_the_same(self, older: _Told) -> bool:
        if self._does and self._does == older._does:
            return True
        if self._attribute and self._attribute == older._attribute:
            return True
        if self._kinds & older._kinds:
            return True
        common = len(self._words & older._words)
        either = len(self._words | older._words)
        whole = bool(self._words) and self._words == older._words
        return whole or (common >= _LEAST_COMMON and common / either >= _ALIKE)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Told:
    return _Told(text)


def _key(does: str) -> str:
    first, *more = does.lower().split()
    return _SINGLE_KEYS.get(first) or " ".join([first.removesuffix("s").removesuffix("ing"), *more])
