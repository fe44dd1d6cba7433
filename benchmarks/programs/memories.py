"""Memories found among many: `python -m benchmarks.programs.memories`."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from itertools import product

from benchmarks.table import Row, show
from gateway.features.memories.books import Vectors
from gateway.features.memories.index import MemoryIndex

MEMORIES = 10_000
ROUNDS = 20
MOST_MS = 5.0
WORDS = 8_000
NUMBERS = 1_536

FACTS = (
    *("the user is vegetarian", "the user is allergic to peanuts", "the user lives in Oslo", "has a dog named Rex"),
    *("works as an engineer at a shipyard", "\u7528\u6237\u559c\u6b22\u5496\u5561\u548c\u8336"),
)
QUESTIONS: Mapping[str, tuple[str, str]] = {
    "one word": ("dog", FACTS[3]),
    "a topic": ("What do you know about the user's diet?", FACTS[1]),
    "a sentence with typing errors": ("Is the user alergic to penuts?", FACTS[1]),
    "Chinese, two characters": ("\u5496\u5561", FACTS[5]),
    "eight misspelt words": ("qwertzuiop asdfghjkl yxcvbnmqw vegitaran dogg enginer shipyrad pxotmn", FACTS[4]),
}
"""Each question with what is to be found first."""


def made(rng: random.Random) -> list[str]:
    """Ten thousand memories of made-up words, with a few that are asked for."""
    syllables = ["".join(pair) for pair in product("bcdfghklmnprstvwz", "aeiou")]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 5))) for _ in range(WORDS)]
    verbs = ("likes", "has", "wants", "knows", "works with", "lives near")
    others = [f"the user {rng.choice(verbs)} {' '.join(rng.choices(words, k=8))}" for _ in range(MEMORIES - len(FACTS))]
    return [*others, *FACTS]


def cpu_ms(index: MemoryIndex, question: str) -> float:
    """The CPU time of a search, the best of some."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        index.search(question, 8)
        best = min(best, time.process_time() - begun)
    return best * 1000


def made_vectors(rng: random.Random) -> tuple[Vectors, bytes, int]:
    """Ten thousand vectors, a question, and the number of the one that is meant by it."""
    vectors, asked, wanted = Vectors(), rng.randbytes(NUMBERS), MEMORIES // 2
    for number in range(MEMORIES):
        vectors.add(_like(asked, rng) if number == wanted else rng.randbytes(NUMBERS))
    return vectors, asked, wanted


def _like(vector: bytes, rng: random.Random) -> bytes:
    """A vector half of whose numbers are those of another."""
    return bytes(number if rng.random() < 0.5 else rng.randrange(256) for number in vector)


def nearest_ms(vectors: Vectors, asked: bytes) -> float:
    """The CPU time of finding the nearest, the best of some."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        vectors.nearest(asked, 8, 0.3)
        best = min(best, time.process_time() - begun)
    return best * 1000


def run() -> list[Row]:
    """A search for each kind of question."""
    texts = made(random.Random(1))
    index = MemoryIndex(texts)
    rows = []
    for name, (question, wanted) in QUESTIONS.items():
        assert texts[index.search(question, 8)[0]] == wanted, name
        took_ms = cpu_ms(index, question)
        rows.append(Row(f"memories found among {MEMORIES:,}: {name}", took_ms, "ms CPU", target=f"< {MOST_MS:g}"))
    vectors, asked, meant = made_vectors(random.Random(1))
    assert vectors.nearest(asked, 8, 0.3) == [meant]
    took_ms = nearest_ms(vectors, asked)
    name = f"memories found among {MEMORIES:,}: by meaning, {NUMBERS:,} numbers each"
    return [*rows, Row(name, took_ms, "ms CPU", target=f"< {MOST_MS:g}")]


if __name__ == "__main__":
    print(show(run()))
