"""Rules for native streams, which take nothing back: what may be appended, and when another stream follows."""

from __future__ import annotations

from adapters.capabilities import StreamLimits
from adapters.markdown.paging import Cut
from adapters.markdown.text_length import Measure

AGED_FROM = 0.8
"""A stream is closed, and another begun, after this part of the time it lasts. Chosen: calls may be slow."""
TORN_FROM = 0.7
"""From this part of a page's limit on its last word may still move to the next one (`paging.TORN_MAX`)."""


def is_aged(limits: StreamLimits, age_s: float) -> bool:
    """Whether a stream of this age must be followed by another."""
    return age_s >= AGED_FROM * limits.max_age_s


def steady(cut: Cut, limit: int, measure: Measure) -> str:
    """So much of a page that still grows as will stand in it whatever comes."""
    text = cut.text.rstrip()
    if measure(text) < TORN_FROM * limit:
        return text
    ends = cut.text.rfind("\n") if cut.fenced else max(cut.text.rfind(gap) for gap in " \n")
    return cut.text[: max(0, ends)].rstrip()


def ends_at(text: str, shown: int) -> int:
    """Where a stream ends that shows the first `shown` characters of the text: a paragraph's, line's or word's end."""
    if shown >= len(text) or text[:shown].endswith("\n"):
        return min(shown, len(text))
    for gap in ("\n\n", "\n", " "):
        found = text.find(gap, shown)
        if found >= 0:
            return found + len(gap)
    return len(text)
