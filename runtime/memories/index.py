"""Finding memories by the words of a question: their forms, typing errors in them, and words of the same topic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import islice
from math import log

from runtime.memories.topics import TOPICS
from runtime.memories.words import is_unspaced, tokens

_TYPED_WRONG = 0.6
"""The weight of a word that differs from the question's by a typing error."""

_SAME_TOPIC = 0.25
"""The weight of a word that only belongs to the same topic."""

_FIXED_CHARS = 4
"""Shorter words are compared letter by letter."""

_NEAR_WORDS = 3
"""The words that are taken for what a misspelt one may have meant."""

_OFTEN = 2000
"""A word in more memories than this, and in a fourth of them, tells nothing."""


_LONGEST_QUESTION = 60
_MOST_MISSPELT = 8
"""The words of a question that are looked for, and those of them that may be misspelt."""


class MemoryIndex:
    """An index over texts, which are numbered from 0 in the order in which they are added: the oldest first."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._count = 0
        self._places: dict[str, list[int]] = defaultdict(list)
        self._topics: dict[int, list[int]] = defaultdict(list)
        self._by_pairs: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return self._count

    def add(self, text: str) -> None:
        """Add a text that is newer than all others."""
        number, self._count = self._count, self._count + 1
        found = dict.fromkeys(tokens(text))
        for token in found:
            self._add(token, number)
        for topic in {topic for token in found for topic in TOPICS.get(token, ())}:
            self._topics[topic].append(number)

    def _add(self, token: str, number: int) -> None:
        if token not in self._places and _may_be_misspelt(token):
            for pair in _pairs(token):
                self._by_pairs[pair].append(token)
        self._places[token].append(number)

    def search(self, question: str, limit: int) -> list[int]:
        """The numbers of the texts that fit a question best, the best first; of equal ones the newest."""
        scores: dict[int, float] = defaultdict(float)
        topics: set[int] = set()
        misspelt = 0
        for token in islice(dict.fromkeys(tokens(question)), _LONGEST_QUESTION):
            topics |= TOPICS.get(token, frozenset())
            if token in self._places:
                self._score(scores, self._places[token], 1.0)
            elif _may_be_misspelt(token) and token not in TOPICS and misspelt < _MOST_MISSPELT:
                misspelt += 1
                for near in self._near(token):
                    topics |= TOPICS.get(near, frozenset())
                    self._score(scores, self._places[near], _TYPED_WRONG)
        for topic in topics:
            self._score(scores, self._topics.get(topic, ()), _SAME_TOPIC)
        best = nlargest(limit, scores.items(), key=lambda found: (found[1], found[0]))
        return [number for number, _ in best]

    def _score(self, scores: dict[int, float], places: Sequence[int], weight: float) -> None:
        if len(places) > _OFTEN and 4 * len(places) > self._count:
            return
        worth = weight * log(1 + (self._count + 1) / (len(places) + 0.5))
        for number in places:
            scores[number] += worth

    def _near(self, token: str) -> list[str]:
        """Words that a misspelt one may have meant."""
        shared: Counter[str] = Counter()
        for pair in _pairs(token):
            shared.update(self._by_pairs.get(pair, ()))
        allowed = 1 if len(token) < 2 * _FIXED_CHARS else 2
        candidates = (word for word, _ in shared.most_common(40) if abs(len(word) - len(token)) <= allowed)
        near = [(distance(token, word, allowed), word) for word in candidates]
        return [word for far, word in sorted(near) if far <= allowed][:_NEAR_WORDS]


def _may_be_misspelt(token: str) -> bool:
    return len(token) >= _FIXED_CHARS and not is_unspaced(token) and not token.isdecimal()


def _pairs(token: str) -> set[str]:
    """The pairs of neighbouring letters, and the first letter with where it stands."""
    return {f"^{token[0]}", *(token[at : at + 2] for at in range(len(token) - 1))}


def distance(one: str, other: str, most: int) -> int:
    """How many letters must be put in, taken out, replaced or exchanged with their neighbour; `most` + 1 for more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row = row, [number]
        for at, its in enumerate(other, 1):
            cost = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != its))
            if number > 1 and at > 1 and letter == other[at - 2] and one[number - 2] == its:
                cost = min(cost, before[at - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = last
    return min(row[-1], most + 1)
