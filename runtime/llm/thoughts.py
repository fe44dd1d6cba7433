"""The thoughts that some models write before their answer, which are no part of it.

Providers keep them apart from the text. Servers that do not know a form send them as text, between `<think>` and
`</think>`, or between the marks of another form.
"""

from __future__ import annotations

import re

_FORMS = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "mm:think")},
    "[think]": "[/think]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "<|channel>": "<channel|>",
}
"""How thoughts begin, and how they end."""
_OPENED = re.compile("|".join(map(re.escape, _FORMS)), re.IGNORECASE)
_LONGEST_MARK = max(map(len, _FORMS.values()))


class Thoughts:
    """Leaves out the thoughts at the beginning of an answer that comes in pieces.

    How it was cut makes no difference. What stands in the middle of an answer stays.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing: re.Pattern[str] | None = None
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
        if self._closing is not None or not begun or _may_open(begun):
            return ""
        return self._rest()

    def end(self) -> str:
        """The text that was held back, once the answer is complete."""
        return "" if self._closing is not None else self._rest()

    def _passed(self) -> bool:
        """Pass over the tag with which the rest begins, or over the thought in it; False if there is none or no end."""
        if self._closing is None:
            begun = self._held.lstrip()
            opened = _OPENED.match(begun)
            if opened is None:
                return False
            self._held, self._thought = begun[opened.end() :], True
            self._closing = re.compile(re.escape(_FORMS[opened[0].casefold()]), re.IGNORECASE)
        closed = self._closing.search(self._held)
        if closed is None:
            self._held = self._held[-_LONGEST_MARK:]  # the beginning of the closing tag may be there
            return False
        self._held, self._closing = self._held[closed.end() :], None
        return True

    def _rest(self) -> str:
        rest, self._held, self._over = self._held, "", True
        return rest.lstrip() if self._thought else rest


def _may_open(text: str) -> bool:
    return any(mark.startswith(text.casefold()) for mark in _FORMS)
