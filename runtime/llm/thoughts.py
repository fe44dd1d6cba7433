"""The thoughts that some models write before their answer, which are no part of it."""

from __future__ import annotations

import re

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENED = re.compile(rf"<({'|'.join(_TAGS)})>", re.IGNORECASE)
_LONGEST_TAG = max(map(len, _TAGS)) + 2


class Thoughts:
    """Leaves out `<think>…</think>` at the beginning of an answer that comes in pieces. How it was cut makes no
    difference. What stands in the middle of an answer stays.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._searched = 0
        self._thought = False
        self._over = False

    def without(self, piece: str) -> str:
        """The text of the answer that a piece adds."""
        if self._over:
            return piece
        self._held += piece
        while self._passed():
            pass
        begun = self._held.lstrip()
        if self._closing or not begun or (len(begun) < _LONGEST_TAG and _may_open(begun)):
            return ""
        return self._rest()

    def end(self) -> str:
        """The text that was held back, once the answer is complete."""
        return "" if self._closing else self._rest()

    def _passed(self) -> bool:
        """Pass over the tag with which the rest begins, or over the thought in it; False if there is none or no end."""
        if not self._closing:
            opened = _OPENED.match(self._held.lstrip())
            if opened is None:
                return False
            self._held = self._held.lstrip()[opened.end() :]
            self._closing, self._searched, self._thought = f"</{opened[1].casefold()}>", 0, True
        at = self._held.casefold().find(self._closing, self._searched)
        if at < 0:
            self._searched = max(0, len(self._held) - len(self._closing))
            return False
        self._held, self._closing = self._held[at + len(self._closing) :], ""
        return True

    def _rest(self) -> str:
        rest, self._held, self._over = self._held, "", True
        return rest.lstrip() if self._thought else rest


def _may_open(text: str) -> bool:
    return any(f"<{tag}>".startswith(text.casefold()) for tag in _TAGS)
