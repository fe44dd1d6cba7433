"""How many pieces of formatting a line has at most: platforms limit them as they limit characters."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<whole>`+[^`\n]*`+|\]\([^\s)]*|https?://[^\s)>\]]*|@[a-z0-9]|<[a-z]|^[ \t]*(?:#|\|[ :|-]*--|[`~]{3}))"
    r"|(?P<half>\*++(?!\s)|(?<!\s)\*++|~~|(?<!\w)_++|_++(?!\w))",
    re.IGNORECASE,
)


def crowded_at(line: str, most: float) -> tuple[int, float]:
    """Where a line needs one piece more than `most`, or its length; and the pieces before that.

    Emphasis is counted by its marks, half a piece each, so that what follows changes nothing.
    """
    count = 0.0
    for found in _PIECE.finditer(line):
        weight = 1.0 if found["whole"] is not None else (len(found[0]) + 1) // 2 / 2
        if count + weight > most:
            return found.start(), count
        count += weight
    return len(line), count
