"""Limits on the Markdown that is formatted: some of its marks take more than proportional time to read."""

from __future__ import annotations

import re

CHARS_MAX = 12_500
"""The largest number of characters that is formatted. No message of any platform holds more; longer text is cut into
pages first.
"""
MARKS_MAX = 1_500
"""The largest number of marks and lines, counted as characters that may be one: a page of dense code has half
as many.
"""
BRACKETS_MAX = 250
"""The largest number of brackets: each may begin a link, whose end is searched for in all the rest."""
_NESTED_MAX = 12
"""The largest nesting of quotations and lists on one line."""

_MARK = re.compile(r"[*_~`<&\[\n]")
_NESTED = re.compile(rf"^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{{_NESTED_MAX + 1}}}", re.MULTILINE)


class TooMuchMarkdown(ValueError):
    """The text has to be shown as written."""


def check_bounds(markdown: str, *, most_chars: int = CHARS_MAX) -> None:
    """Raise TooMuchMarkdown for a text that would take too long to format."""
    if (
        len(markdown) > most_chars
        or markdown.count("[") > BRACKETS_MAX
        or sum(1 for _ in _MARK.finditer(markdown)) > MARKS_MAX
        or _NESTED.search(markdown)
    ):
        raise TooMuchMarkdown("too much Markdown to be formatted")
