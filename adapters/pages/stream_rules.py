"""Rules for native streams, which cannot take text back: what may be appended, and when a new stream starts."""

from __future__ import annotations

from adapters.capabilities import StreamLimits
from adapters.markdown.paging import Cut
from adapters.markdown.text_length import Measure

AGED_FROM = 0.8
"""The part of its lifetime after which a stream is closed and a new one started. Chosen: calls may be slow."""
TORN_FROM = 0.7
"""The part of a page's limit from which its last word may still move to the next page (`paging.TORN_MAX`)."""


def is_aged(limits: StreamLimits, age_s: float) -> bool:
    """Whether a stream of this age must be replaced by another."""
    return age_s >= AGED_FROM * limits.max_age_s


def steady(cut: Cut, limit: int, measure: Measure) -> str:
    """The part of a growing page that stays on it whatever follows."""
    text = cut.text.rstrip()
    if measure(text) < TORN_FROM * limit:
        return text
    ends = cut.text.rfind("\n") if cut.fenced else max(cut.text.rfind(gap) for gap in " \n")
    return cut.text[: max(0, ends)].rstrip()


def ends_at(text: str, shown: int) -> int:
    """The end of a stream that shows the first `shown` characters: the end of a paragraph, a line or a word."""
    if shown >= len(text) or text[:shown].endswith("\n"):
        return min(shown, len(text))
    for gap in ("\n\n", "\n", " "):
        found = text.find(gap, shown)
        if found >= 0:
            return found + len(gap)
    return len(text)
