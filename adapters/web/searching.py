"""Words that are looked for in messages; where nothing has them, words that differ from them by one slip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

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
        self.exact: list[tuple[str, ShownMessage]] = []
        self._near: list[tuple[str, ShownMessage, set[str]]] = []

    def look(self, room: str, messages: Iterable[ShownMessage]) -> None:
        for each in messages:
            said = each.message
            text = " ".join([said.text, said.author_name, *(file.name for file in said.files)]).casefold()
            if said.deleted or not self._words:
                continue
            lacking = [word for word in self._words if word not in text]
            if not lacking:
                self.exact.append((room, each))
            elif not self.exact and (meant := self._meant(lacking, text)):
                self._near.append((room, each, meant))

    def _meant(self, lacking: Sequence[str], text: str) -> set[str]:
        """The words of a text that are like those that it lacks; none unless each of these has one."""
        if any(len(word) < _LEAST_CHARS or not word.isalpha() for word in lacking):
            return set()
        meant, there = set[str](), set(_WORD.findall(text))
        for word in lacking:
            near = {other for other in there if self._is_like(word, other)}
            if not near:
                return set()
            meant |= near
        return meant

    def _is_like(self, word: str, other: str) -> bool:
        if not -1 <= len(word) - len(other) <= 1:
            return False
        if (word, other) not in self._alike:
            self._alike[word, other] = mistakes_between(word, other, 1) is not None
        return self._alike[word, other]

    def found(self, sees: Callable[[str], bool]) -> tuple[list[tuple[str, ShownMessage]], list[str]]:
        """What was found in the rooms that somebody `sees`, and there the words that were taken for those meant."""
        if self.exact:
            return [(room, each) for room, each in self.exact if sees(room)], []
        near = [(room, each, meant) for room, each, meant in self._near if sees(room)]
        return [(room, each) for room, each, _ in near], sorted(set[str]().union(*(meant for *_, meant in near)))
