"""Limits on the Markdown that is formatted: some of its marks take more than proportional time to read."""

from __future__ import annotations

import re

CHARS_MAX = 12_500
"""No message of any platform holds more, in characters; longer text is cut into pages before it is formatted."""
MARKS_MAX = 1_500
"""Marks and lines, in characters that may be one: a page of dense code has half as many."""
BRACKETS_MAX = 250
"""Each may begin a link, for whose end all that follows is searched."""
_NESTED_MAX = 12
"""Quotations and lists within each other, on one line."""

_MARK = re.compile(r"[*_~`<&\[\n]")
_NESTED = re.compile(rf"^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{{_NESTED_MAX + 1}}}", re.MULTILINE)


class TooMuchMarkdown(ValueError):
    """The text is to be shown as it is written."""


def check_bounds(markdown: str, *, most_chars: int = CHARS_MAX) -> None:
    """Raises TooMuchMarkdown for what would take too long to format."""
    if (
        len(markdown) > most_chars
        or markdown.count("[") > BRACKETS_MAX
        or sum(1 for _ in _MARK.finditer(markdown)) > MARKS_MAX
        or _NESTED.search(markdown)
    ):
        raise TooMuchMarkdown("too much Markdown to be formatted")
