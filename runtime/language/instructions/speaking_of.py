"""What steps and notes speak of, beside what they say exactly: failures of calls, and the end of the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_FAILURE = re.compile(
    r"\b(?:fail\w*|error\w*|problem\w*|unavailable|not available|does not work|did not work|went wrong|goes wrong"
    r"|exception\w*|outcome (?:is|was) (?:not known|unknown)|could not|cannot be|can't be)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def speaks_of_failure(text: str) -> bool:
    """Whether a condition or a note handles the failure of a call."""
    return _FAILURE.search(text) is not None


_ENDING = re.compile(
    r"\b(?:end\w*|exit\w*|quit\w*|finish\w*|stop\w*|clos(?:e|es|ing)|terminat\w*|abort\w*|cancel\w*|abandon\w*"
    r"|(?:good)?bye|farewell|leaves?|shut\w*|hang up|give up)\b",
    re.IGNORECASE,
)


def speaks_of_ending(text: str, notes: Sequence[str]) -> bool:
    """Whether a step, or a note on all of them, may mean that the program ends."""
    return any(_ENDING.search(one) for one in (text, *notes))


_OTHERS = re.compile(
    r"\A(?:it is not true that\s+)?(?:(?:the|your|our|this|each|every|any|all|both)\s+)*"
    r"(?:users?|customers?|humans?|person|they|he|she|participants?|attendees?)\b(?!['\u2019])"
    r"|\b(?:the|this)\s+meeting\b",
    re.IGNORECASE,
)
"""Tests that speak of others: "the user is happy", not "the user's order is complete"."""


def speaks_of_others(test: str) -> bool:
    """Whether a test speaks of what people or a meeting do or feel, which no work of the agent alone changes."""
    return _OTHERS.search(test) is not None
