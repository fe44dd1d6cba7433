"""The words of a text, with their places."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

WORD = re.compile(r"\w+")
PIECE = re.compile(r"\w+|[^\w\s]")


class WordList:
    """The words and marks of a text in lower case. A typographic apostrophe is a plain one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = tuple(map(str.lower, PIECE.findall(text.replace("\u2019", "'"))))
        """All of them, in order."""
        self.ended = *self.words, ""
        """The words, and "" for the end."""
        self.indented = text[:1].isspace()

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Where each word begins and ends."""
        return tuple([one.span() for one in PIECE.finditer(self.text)])

    def joined(self, at: int) -> bool:
        """Whether a word, or the end, follows the word before without a blank."""
        end = self.places[at - 1][1] if at else -1
        return end == (self.places[at][0] if at < len(self.words) else len(self.text))


@lru_cache(maxsize=4096)
def words_of_text(text: str) -> WordList:
    """The words and marks of a text."""
    return WordList(text)
