"""Words that are looked for in messages; where nothing has them, words that differ from them by one slip."""

from __future__ import annotations

import re
from collections.abc import Iterable

from adapters.web.codec import ShownMessage
from runtime.core.near_names import mistakes_between

_WORD = re.compile(r"\w+")
_LEAST_CHARS = 4
"""A shorter word is meant as it stands."""


class WordSearch:
    """Finds messages that have all the words, in their text, author's name or files' names."""

    def __init__(self, words: str) -> None:
        self._words = words.casefold().split()
        self._alike: dict[tuple[str, str], bool] = {}
        self._exact: list[tuple[str, ShownMessage]] = []
        self._near: list[tuple[str, ShownMessage]] = []

    def look(self, room: str, messages: Iterable[ShownMessage]) -> None:
        for each in messages:
            said = each.message
            text = " ".join([said.text, said.author_name, *(file.name for file in said.files)]).casefold()
            if said.deleted or not self._words:
                continue
            if all(word in text for word in self._words):
                self._exact.append((room, each))
            elif not self._exact and all(word in text or self._nearly(word, text) for word in self._words):
                self._near.append((room, each))

    def _nearly(self, word: str, text: str) -> bool:
        if len(word) < _LEAST_CHARS or not word.isalpha():
            return False
        pairs = [(word, other) for other in set(_WORD.findall(text))]
        for pair in pairs:
            if pair not in self._alike:
                self._alike[pair] = mistakes_between(*pair, 1) is not None
        return any(self._alike[pair] for pair in pairs)

    @property
    def found(self) -> list[tuple[str, ShownMessage]]:
        """What was found, with its rooms."""
        return self._exact or self._near

    @property
    def meant(self) -> list[str]:
        """The words that were found for those that are nowhere."""
        return [] if self._exact else [other for (_, other), alike in self._alike.items() if alike]
