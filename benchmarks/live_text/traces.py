"""How answers come out of a model: recorded arrivals, the same for every policy."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

STEADY_CHARS_PER_S = 200
CHUNK_CHARS = 4
LONGEST_BURSTY_S = 25.0


class Chunk(Struct, frozen=True):
    """The text is `length` characters long from `at` seconds on."""

    at: float
    length: int


Trace = Sequence[Chunk]


def steady(shortest_s: float, longest_s: float) -> Callable[[int], Trace]:
    """Constant speed for a length drawn from a range: a fixed one would flatter a timer that happens to fit it."""

    def trace(seed: int) -> Trace:
        return steady_chars(random.Random(seed).uniform(shortest_s, longest_s) * STEADY_CHARS_PER_S)

    return trace


def steady_chars(length: float) -> Trace:
    """So many characters, rounded down to whole chunks, at constant speed."""
    count = int(length / CHUNK_CHARS)
    return [Chunk(n * CHUNK_CHARS / STEADY_CHARS_PER_S, (n + 1) * CHUNK_CHARS) for n in range(count)]


def bursty(tokens_per_s: float) -> Callable[[int], Trace]:
    """A model's stream: bursts of about 3 s with pauses of 0.5 to 3 s between them, at most 25 s of text."""

    def trace(seed: int) -> Trace:
        source = random.Random(seed)
        active_s = min(LONGEST_BURSTY_S, source.lognormvariate(math.log(8), 0.8))
        at, length, chunks = 0.0, 0, list[Chunk]()
        while active_s > 0:
            burst_s = min(active_s, source.expovariate(1 / 3) + 0.2)
            for _ in range(max(1, int(burst_s * tokens_per_s))):
                at += source.gammavariate(2, 0.5 / tokens_per_s)
                length += source.randint(2, 6)
                chunks.append(Chunk(at, length))
            active_s -= burst_s
            at += source.uniform(0.5, 3)
        return [Chunk(chunk.at - chunks[0].at, chunk.length) for chunk in chunks]

    return trace


TRACES: Mapping[str, Callable[[int], Trace]] = {
    "steady 5 s": steady(3, 7),
    "steady 15 s": steady(12, 18),
    "steady 60 s": steady(45, 75),
    "bursty 20/s": bursty(20),
    "bursty 50/s": bursty(50),
    "bursty 150/s": bursty(150),
}


def words(length: int) -> str:
    """Numbered words, so that what is missing, doubled or out of order can be read from what is seen."""
    return "".join(f"w{number:06d} " for number in range(length // 8 + 1))[:length]


def paragraphs(length: int) -> str:
    """Such words in sentences of twelve, five of them a paragraph."""
    text = ""
    for number in range(length // 8 + 1):
        end = (".\n\n" if number % 60 == 59 else ". ") if number % 12 == 11 else " "
        text += f"w{number:06d}{end}"
    return text[:length]
