"""The length of a text in a platform's units."""

from __future__ import annotations

from collections.abc import Callable

from adapters.capabilities import TextUnit

Measure = Callable[[str], int]


def measure_utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the basic plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def measure_codepoints(text: str) -> int:
    """Length in code points."""
    return len(text)


def measure_of(unit: TextUnit) -> Measure:
    """The measure of a platform's unit."""
    return measure_utf16 if unit == "utf16" else measure_codepoints
