"""The thought that some models write before an answer, which is not for people.

Providers keep it apart from the text. Servers that do not know a model's form send it as text, between `<think>` and
`</think>`.
"""

from __future__ import annotations

import re
from enum import Enum, auto

_TAGS = ("<think>", "<thinking>", "<thought>")
_ENDS = {tag: f"</{tag[1:]}" for tag in _TAGS}
_BEGINNING = re.compile("|".join(map(re.escape, _TAGS)))


class _At(Enum):
    START = auto()
    THOUGHT = auto()
    GAP = auto()
    """Between the thought and the answer."""
    ANSWER = auto()


class Thoughts:
    """One answer without the thought at its start. A tag further on is the answer's own."""

    def __init__(self) -> None:
        self._at = _At.START
        self._held = ""
        self._end = ""

    def without(self, piece: str) -> str:
        """What a piece adds to the answer."""
        if self._at is _At.ANSWER:
            return piece
        self._held += piece
        if self._at is _At.START:
            self._begin()
        if self._at is _At.THOUGHT:
            self._think()
        if self._at is _At.GAP:
            self._held = self._held.lstrip()
            self._at = _At.ANSWER if self._held else _At.GAP
        return self.rest() if self._at is _At.ANSWER else ""

    def rest(self) -> str:
        """What is still held at the end: the answer as far as it has come, and nothing of a thought."""
        held, self._held = self._held, ""
        return "" if self._at is _At.THOUGHT else held

    def _begin(self) -> None:
        begun = self._held.lstrip()
        if found := _BEGINNING.match(begun):
            self._at, self._end, self._held = _At.THOUGHT, _ENDS[found[0]], begun[found.end() :]
        elif not any(tag.startswith(begun) for tag in _TAGS):
            self._at = _At.ANSWER

    def _think(self) -> None:
        thought, end, rest = self._held.partition(self._end)
        if end:
            self._at, self._held = _At.GAP, rest
        else:
            self._held = thought[1 - len(self._end) :]
