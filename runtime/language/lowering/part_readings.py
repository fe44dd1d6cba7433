"""The meanings of a step's parts: each part is read once, and all of them only up to a bound."""

from __future__ import annotations

from collections.abc import Callable

from runtime.language.lowering.instruction import LoweredInstruction, free

_MOST_CHARS = 25_000
"""The characters of a step's parts that are read, all together: each way to cut a sentence in two is tried, and what is
long is cut often."""


class _TooManyParts(Exception):
    """A step has so many parts that reading all of them would take very long."""


class PartReadings:
    """Reads a step with `read`, which asks again here for the parts of the step."""

    def __init__(self, read: Callable[[str, bool], LoweredInstruction]) -> None:
        self._read = read
        self._known: dict[tuple[str, bool], LoweredInstruction] = {}
        self._depth = 0
        self._chars = 0

    def of(self, text: str, *, whole: bool) -> LoweredInstruction:
        """The meaning of a step, or of a part of the one that is being read. A step with too many parts is free."""
        if self._depth:
            self._chars += len(text)
            if self._chars > _MOST_CHARS:
                raise _TooManyParts
            return self._part(text, whole)
        self._known.clear()
        self._chars = 0
        try:
            return self._part(text, whole)
        except _TooManyParts:
            return free(text, "it has too many parts to be read for certain", whole=True)

    def _part(self, text: str, whole: bool) -> LoweredInstruction:
        key = (text, whole)
        if key not in self._known:
            self._known[key] = free(text, "it is a part of itself")  # for a part that is put together to it again
            self._depth += 1
            try:
                self._known[key] = self._read(text, whole)
            finally:
                self._depth -= 1
        return self._known[key]
