"""Words of others inside our own texts, which are Markdown."""

from __future__ import annotations

import re

from msgspec import Struct

_SIGNS = re.compile(r"[`*<>~|&]|(?<![^\W_])_|_(?![^\W_])")
_FORMULA = re.compile(r"[\\\[\]$]")
"""What stands around formulas, which begin with backslashes too."""
_READ = re.compile(
    r"@(?!\u2060)|(?<=\w):(?=//)|(?<=\bwww)\.|^[ \t]*(?=[#+=-][\s#+=-]|[#+=-]$|\d+[.)](?:\s|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a platform reads a mention, an address, a heading or a list, unless an invisible character stands there."""
_MARKED = re.compile("\\\\([^A-Za-z0-9\\s])|&#([0-9]{1,3});|\u2060")


class MarkdownPart(Struct, frozen=True):
    """A value that is Markdown already: it becomes a part of a text of ours as it is."""

    text: str

    def __str__(self) -> str:
        return self.text


def as_written(text: str) -> str:
    """Markdown that shows `text` unchanged: no markup and no link comes of it, and nobody is notified."""
    marked = _SIGNS.sub(r"\0\g<0>", _READ.sub("\\g<0>\u2060", text))
    return _FORMULA.sub(lambda sign: f"&#{ord(sign[0])};", marked).replace("\0", "\\")


def as_read(markdown: str) -> str:
    """Our own text where nothing reads Markdown: what `as_written` has marked stands there as it was written."""
    return _MARKED.sub(lambda found: found[1] or (chr(int(found[2])) if found[2] else ""), markdown)
