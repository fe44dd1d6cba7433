"""What a text speaks of, where the runtime must know without understanding it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from runtime.language.vocabulary.phrase import phrase


@lru_cache(maxsize=4096)
def speaks_of_failure(text: str) -> bool:
    """Whether a condition or a note handles the failure of a call."""
    return phrase("failure").inside(text) is not None


def speaks_of_ending(text: str, notes: Sequence[str]) -> bool:
    """Whether a step, or a note on all of them, may mean that the program ends."""
    return any(phrase("ending").inside(one) for one in (text, *notes))


def speaks_of_others(test: str) -> bool:
    """Whether a test speaks of what people or a meeting do or feel, which no work of the agent alone changes."""
    return phrase("others").inside(test) is not None
