"""What people saw of a text, and how late."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from benchmarks.live_text.traces import Chunk, Trace

NEVER_AFTER_S = 150.0
"""What was not shown by so long after the end counts as shown then."""


class Seen(Struct, frozen=True):
    """The state of a conversation from `at` seconds on: its messages in order."""

    at: float
    messages: tuple[str, ...]


class Freshness(Struct, frozen=True):
    """One text. `delay_s` is the mean delay of a character, `gap_s` the longest; times in seconds.

    `whole`: at the end every character stood there once and nothing else. `fell`: how often text vanished again.
    """

    delay_s: float
    gap_s: float
    first_s: float
    tail_s: float
    whole: bool
    fell: int


def bare(text: str) -> str:
    """The text without spaces: platforms trim them, and pages end at them."""
    return "".join(text.split())


def shown_prefixes(text: str, seen: Sequence[Seen]) -> list[Chunk]:
    """How long a correct beginning was visible from when on, in characters without spaces."""
    wanted = bare(text)
    return [Chunk(state.at, _common(wanted, bare("".join(state.messages)))) for state in seen]


def judge(text: str, chunks: Trace, seen: Sequence[Seen]) -> Freshness:
    """The measures of a text that began at 0. A character that vanished counts as shown when it came to stay."""
    prefixes = shown_prefixes(text, seen)
    fell = sum(after.length < before.length for before, after in pairwise(prefixes))
    lasting: list[Chunk] = []
    lowest = len(bare(text))
    for one in reversed(prefixes):
        lowest = min(lowest, one.length)
        lasting.append(Chunk(one.at, lowest))
    lasting.reverse()
    lengths = [one.length for one in lasting]
    delays: list[tuple[float, int]] = []
    before = length = 0
    for chunk in chunks:
        length += len(bare(text[before : chunk.length]))
        landing = bisect_left(lengths, length)
        shown_at = lasting[landing].at if landing < len(lasting) else chunks[-1].at + NEVER_AFTER_S
        delays.append((shown_at - chunk.at, chunk.length - before))
        before = chunk.length
    return Freshness(
        delay_s=sum(delay_s * count for delay_s, count in delays) / len(text),
        gap_s=max(delay_s for delay_s, _ in delays),
        first_s=delays[0][0],
        tail_s=delays[-1][0],
        whole=bool(seen) and bare("".join(seen[-1].messages)) == bare(text),
        fell=fell,
    )


def _common(wanted: str, visible: str) -> int:
    if wanted.startswith(visible):
        return len(visible)
    low, high = 0, min(len(wanted), len(visible))
    while low < high:
        middle = (low + high + 1) // 2
        if wanted[:middle] == visible[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
